package risk

import "strings"

// tableRow is a rule and the command patterns it applies to, one per line.
//
// A pattern is written like a command line: the program, its nested commands, then terms that must
// match among the arguments. Bars separate alternatives. The forms of a term are:
//
//	-f|--force  an option, alone, abbreviated or in a cluster (-rf)
//	=word       an argument that equals word
//	~text       an argument that contains text
//	word…       an argument that starts with word
//	<>          any operand
//	<-x|word>   an operand other than these and the values of these options
//	!term       excludes calls that certainly match the term
type tableRow struct {
	rule
	patterns string
}

// The rules that other checks find, too.
var (
	changesHooks      = rule{"oversight", high, "It changes an agent's hooks or the policy, which decide whether you are asked for approval."}
	changesHub        = rule{"oversight", high, "It reads or changes the hub's keys, pins or address."}
	stopsPort         = rule{"oversight", medium, "It stops the program on port 4000, where the hub listens by default."}
	stopsHub          = rule{"oversight", high, "It stops the hub or a hook that asks for your approval."}
	backgroundProcess = rule{"background", low, "It keeps running in the background after the call returns."}
	detached          = rule{"background", high, "It starts a command outside of the agent's own process."}
)

// ruleTable holds every rule that a pattern can express. The others are in programHandlers.
var ruleTable = []tableRow{
	{rule{"recursive_delete", high, "It deletes every file that it finds, in all subfolders."}, `find =-delete`},
	{rule{"recursive_delete", high, "It deletes every file and folder that git does not track."}, `git clean -f|--force !-n|--dry-run`},
	{rule{"recursive_delete", medium, "It deletes files in the target that the source does not have."}, `rsync ~--delete|=--del !-n|--dry-run`},
	{rule{"recursive_delete", medium, "It deletes containers and images that are not in use."}, `
		docker|podman system|image|container|builder prune !--volumes
		docker|podman rmi -f|--force`},

	{rule{"oversight", high, "It starts an agent without the hooks that ask for your approval, or removes Hookback from it."}, `
		claude|claude-code --settings|--setting-sources|--bare|--safe-mode|--managed-settings
		codex ~hooks=|~hooks.PreToolUse|~hooks.PermissionRequest
		codex --disable =hooks|=codex_hooks|=--disable=hooks|=--disable=codex_hooks
		codex --ignore-user-config
		codex features disable =hooks|=codex_hooks
		gemini|qwen hooks disable|disable-all
		kiro-cli agent set-default|delete
		kiro-cli ~chat.defaultAgent
		kiro-cli --agent
		claude|claude-code|codex|copilot|droid plugin|plugins marketplace remove|rm ~hookback
		opencode --pure
		claude|claude-code|copilot|qwen|gemini ~disableAllHooks|~hooksConfig
		claude|claude-code|codex|gemini|qwen|droid|copilot|cursor-agent mcp|plugin|plugins|extensions remove|rm|disable|uninstall ~hookback`},
	{rule{"oversight", high, "It starts an agent that acts without asking for approval."}, `
		* --dangerously-skip-permissions|--allow-dangerously-skip-permissions|--dangerously-bypass-approvals-and-sandbox|--dangerously-allow-all
		* --skip-permissions-unsafe|--trust-all-tools|--allow-all-tools|--yolo
		node|bun|deno|tsx ~/claude --settings|--setting-sources|--bare|--safe-mode
		claude|claude-code ~bypassPermissions
		codex --full-auto
		codex -a|--ask-for-approval =never|=--ask-for-approval=never|=-anever
		codex ~approval_policy=|~danger-full-access
		gemini|qwen -y|~approval-mode=yolo
		gemini|qwen --approval-mode =yolo
		copilot --allow-all
		droid --auto =high|=--auto=high
		crush|cline -y
		kiro-cli -a
		aider --yes|--yes-always
		agent --force
		cursor-agent -f|--force`},
	{changesHub, `
		unset|set|setx|launchctl|systemctl ~HOOKBACK_
		env -u|--unset ~HOOKBACK_`},
	{changesHooks, `
		unset|setx|env =CLAUDE_CONFIG_DIR|CODEX_HOME|COPILOT_HOME|OPENCODE_CONFIG_DIR`},
	{rule{"oversight", medium, "It talks directly to port 4000, where the hub listens by default."}, `
		nc|ncat|netcat|socat|telnet|openssl|websocat|wscat =4000|~:4000 !-z`},
	{stopsPort, `
		fuser -k|--kill ~4000/tcp
		kill-port|kill-port-process =4000`},
	{stopsHub, `
		systemctl =stop|disable|mask|kill|restart|try-restart|edit|revert|freeze|set-property ~hookback|=hook*|=hook*.service
		service|rc-service ~hookback =stop|restart
		launchctl unload|bootout|remove|stop|kill|disable|kickstart ~hookback
		sc|net =stop|delete|config|pause ~hookback|~Hookback
		tmux =kill-session|kill-window|kill-pane|respawn-pane ~hookback
		docker|podman =stop|kill|rm|restart|pause|update|rename ~hookback
		docker|podman compose stop|kill|rm|restart|pause|down =hookback|=hookback-server
		docker-compose|podman-compose|sv|supervisorctl|pm2 stop|kill|rm|restart|pause|down|delete|force-stop ~hookback
		brew services stop|kill|restart ~hookback
		schtasks ~hookback =/delete|/end|/change|/Delete|/End|/Change
		npm|pnpm|yarn|bun|brew|apt|apt-get|dnf|yum|apk|snap|choco|winget|scoop|pipx|cargo uninstall|remove|rm|purge|un|del|unlink ~hookback
		dpkg -r|--remove|-P|--purge ~hookback
		rpm -e|--erase ~hookback
		pacman ~hookback -R
		flatpak|nix-env|nix uninstall|-e|remove ~hookback
		killall5
		stop-service|set-service|stop-scheduledtask|unregister-scheduledtask|disable-scheduledtask ~hookback`},
	{rule{"oversight", high, "It presses keys or buttons on the screen, and so may answer a request in your place."}, `
		xdotool key|keydown|type|click|mousedown
		ydotool|wtype|dotool|cliclick|xte|xvkbd
		osascript ~keystroke|~click`},
	{rule{"oversight", high, "It talks to a local service directly, for example to the hub that asks for your approval."}, `
		curl --unix-socket|--abstract-unix-socket
		nc|ncat|netcat -U
		socat ~UNIX|~unix`},

	{rule{"force_push", high, "It rewrites the history on the server. Commits that others pushed may be lost."}, `
		git push -f|--force|--mirror !-n|--dry-run
		git push +… !-n|--dry-run`},
	{rule{"force_push", medium, "It rewrites the history on the server, unless someone else has pushed in the meantime."}, `
		git push --force-with-lease !-f|--force|-n|--dry-run`},
	{rule{"force_push", high, "It deletes a branch or a tag on the server."}, `
		git push -d|--delete|--prune !-n|--dry-run
		git push :… !-n|--dry-run`},
	{rule{"rewrite_history", high, "It rewrites the project's entire history."}, `
		git filter-repo|filter-branch
		git-filter-repo|bfg`},
	{rule{"rewrite_history", medium, "Commits that no other branch or tag contains may be lost."}, `
		git branch -D
		git branch -d|--delete -f|--force
		git reflog expire|delete
		git update-ref -d
		git gc =--prune=now|--prune=all`},
	{rule{"discard_changes", high, "It discards all uncommitted changes."}, `git reset --hard|--merge`},
	{rule{"discard_changes", medium, "It discards uncommitted changes."}, `
		git checkout =--|. !-b
		git checkout|switch -f|--force|--discard-changes
		git restore !-S|--staged
		git restore -W|--worktree
		git stash drop|clear
		git worktree remove -f|--force`},

	{rule{"publish", low, "It pushes commits to a server, where others can see them."}, `
		git push !-f|-n|-d|--force|--force-with-lease|--mirror|--dry-run|--delete|--prune|:…|+…`},
	{rule{"publish", high, "It publishes something publicly. That is hard to undo."}, `
		npm|pnpm|yarn|bun publish|unpublish|deprecate !--dry-run
		yarn npm publish !--dry-run
		cargo publish|yank !--dry-run
		twine upload
		poetry|uv publish !--dry-run
		gem push|yank
		docker|podman push
		docker buildx build --push
		gh release|repo|gist create
		helm push`},
	{rule{"deploy", high, "It changes services on other machines."}, `
		kubectl|oc apply|create|replace|patch|edit|scale|set|run|expose|cordon|annotate|label|cp !--dry-run
		kubectl|oc rollout restart|undo|pause|resume
		helm install|upgrade|uninstall|rollback|delete !--dry-run
		terraform|tofu|terragrunt apply|import|taint|force-unlock
		terraform|tofu state rm|mv|push|replace-provider
		pulumi up|destroy
		cdk|serverless|sls|netlify|firebase|wrangler|fly|flyctl|amplify|eb deploy|destroy|remove|delete|publish
		fly|flyctl secrets|scale
		vercel deploy|remove|rm|promote|--prod
		vercel --prod
		gcloud|az|doctl|heroku ~deploy
		ansible-playbook|kamal|cap !--check|--syntax-check`},
	{rule{"deploy", high, "It deletes services or data on other machines."}, `
		kubectl|oc delete|drain !--dry-run
		terraform|tofu|terragrunt destroy
		aws s3|s3api rm|rb
		aws <> delete-…|terminate-…
		gcloud|az|doctl|heroku =delete|destroy|apps:destroy|pg:reset
		gh repo|release|issue|run|secret|variable delete
		gsutil rm|rb`},
	{rule{"network_write", medium, "It changes data or services in the cloud."}, `
		aws <> create-…|put-…|update-…|run-…|start-…|stop-…|modify-…|attach-…|detach-…|publish|send-…|deploy
		gcloud|az|doctl|heroku =create|update|set|ssh|scp|config:set|add-iam-policy-binding
		gsutil cp|mv|rsync`},
	{rule{"network_write", medium, "It sends data to a server, or changes data there."}, `
		gh|glab pr|issue|mr create|merge|close|comment|edit|review|reopen|ready
		gh|glab release|repo edit|upload|archive|rename
		gh|glab api =POST|PUT|PATCH|DELETE|-XPOST|-XPUT|-XPATCH|-XDELETE
		gh|glab api -f|-F|--field|--raw-field|--input !=GET|graphql
		gh workflow|run|secret|variable run|rerun|cancel|set|enable|disable
		wget --post-data|--post-file|--body-data|--body-file|--method
		http|https|xh POST|PUT|PATCH|DELETE !~localhost|~127.0.0.1|:…
		invoke-webrequest|invoke-restmethod|iwr|irm =POST|PUT|PATCH|DELETE|Post|Put|Patch|Delete`},
	{rule{"network_write", medium, "It copies files to or from another machine."}, `
		sftp|ftp|tftp
		rclone copy|sync|move|copyto|moveto|delete|purge`},
	{rule{"network_write", medium, "It opens a raw network connection to another machine."}, `
		nc|ncat|netcat <> !-z|-l|-e|-c|--exec|--sh-exec|=localhost|127.0.0.1
		telnet <> !=localhost|127.0.0.1`},
	{rule{"network_write", medium, "It sends a message to someone."}, `mail|mailx|sendmail|mutt`},
	{rule{"network_write", critical, "It lets another machine run commands on this one."}, `
		nc|ncat|netcat -e|-c|--exec|--sh-exec
		socat ~EXEC:|~exec:|~SYSTEM:|~system:`},

	{rule{"reads_secret", high, "It reads keys or passwords."}, `
		security find-generic-password|find-internet-password|dump-keychain
		pass show
		vault read|kv
		gpg|gpg2 ~--export-secret
		gh auth token
		gcloud auth print-access-token|print-identity-token
		aws secretsmanager get-secret-value
		kubectl|oc get secret|secrets -o|--output
		op read
		op item get`},
	{rule{"reads_secret", high, "It reads the machine's own credentials from the cloud metadata service."}, `
		curl|wget|iwr|irm|http ~169.254.169.254|~metadata.google.internal`},

	{rule{"safety_off", medium, "It skips the checks that run before a commit or a push."}, `
		git commit|push|merge|am --no-verify
		git commit =-n|-an|-nm|-anm
		git ~core.hooksPath=|~core.hookspath=
		git config =core.hooksPath|core.hookspath !--get|--unset`},
	{rule{"safety_off", medium, "It does not verify the identity of the server."}, `
		curl -k|--insecure
		curl =--proxy-insecure
		wget --no-check-certificate
		ssh|scp|sftp|rsync ~StrictHostKeyChecking=no|~UserKnownHostsFile=/dev/null
		git ~sslVerify=false|~sslverify=false
		git config =http.sslVerify =false
		npm config set =strict-ssl =false
		pip install --trusted-host`},
	{rule{"safety_off", high, "It disables a security feature of this machine."}, `
		setenforce 0
		spctl --master-disable|--global-disable
		csrutil disable
		set-executionpolicy|set-mppreference
		powershell|pwsh =Bypass|bypass|Unrestricted|unrestricted
		xattr =com.apple.quarantine`},
	{rule{"safety_off", medium, "It prevents commands from being recorded in the shell history."}, `
		history -c
		unset =HISTFILE`},

	{rule{"privileges", high, "It runs with administrator rights."}, `sudo|doas|su|pkexec|run0|gsudo|runas`},
	{rule{"privileges", high, "It gives a program more rights than the user who runs it."}, `
		setcap <>
		chmod u+s|g+s|+s|ug+s|4755|4777|2755|6755`},
	{rule{"privileges", medium, "It lets every user of this machine change the file."}, `chmod =777|0777|666|0666|a+rwx|a+w|o+w|ugo+rwx`},
	{rule{"privileges", medium, "It changes the owner of a folder and everything in it."}, `chown|chgrp -R|--recursive`},
	{rule{"privileges", high, "It changes the users of this machine, or their passwords."}, `visudo|passwd|chpasswd|useradd|usermod|userdel|adduser|deluser|groupadd`},
	{rule{"privileges", high, "It runs a container that can change this machine."}, `
		docker|podman run|exec|create --privileged
		docker|podman run|create =--pid=host|--net=host
		docker|podman run|create /:…|~docker.sock:`},

	{rule{"system", critical, "It formats a disk. Everything on it is lost."}, `
		mkfs|fdisk|parted|wipefs|format|format-volume|clear-disk <> !-l|--list
		diskutil eraseDisk|eraseVolume|partitionDisk`},
	{rule{"system", high, "It shuts down or restarts the machine."}, `
		shutdown|reboot|halt|poweroff|stop-computer|restart-computer
		init 0|6
		systemctl =poweroff|reboot|halt|suspend|kexec`},
	{rule{"system", medium, "It stops every process with that name, including those that others started."}, `
		killall|pkill !-0|-l|--list
		tmux kill-server
		taskkill =/IM|/im`},
	{rule{"system", high, "It stops or changes a service of this machine."}, `
		systemctl =stop|disable|mask|kill|restart|start|enable|edit|isolate
		service <> stop|restart|start
		launchctl unload|bootout|remove|load|bootstrap|disable`},
	{rule{"system", high, "It changes the firewall of this machine."}, `
		iptables|ip6tables !-L|-S|--list|--list-rules
		nft|pfctl|netsh <> !=list|show
		ufw disable|allow|reset|delete|deny|enable`},
	{rule{"runs_later", high, "It changes a file or a setting that runs commands later."}, `
		npm pkg set ~scripts
		npm set-script
		gh alias|extension set|import|install|upgrade
		gh config set
		helm plugin install|update
		hash -p
		go env -w|-u`},
	{rule{"runs_code", high, "Its code runs other programs, or deletes files."}, `
		osascript ~shell
		enable -f
		mapfile|readarray|complete -C
		bind -x
		git rebase -x|--exec
		git bisect run
		git clone|fetch|pull|ls-remote|push ext::…
		git submodule foreach`},
	{rule{"system", high, "It deletes volumes, snapshots or backups."}, `
		zfs|zpool destroy
		lvremove|vgremove|pvremove <>
		blkdiscard|sgdisk <>
		borg|restic delete|prune|forget
		btrfs subvolume delete
		cryptsetup erase|luksErase|luksFormat
		vssadmin delete
		wbadmin delete`},
	{rule{"privileges", high, "It changes the users of this machine, or their passwords."}, `
		net user|localgroup =/add|/delete
		new-localuser|set-localuser|add-localgroupmember|remove-localuser
		start-process ~RunAs|~runas`},
	{rule{"network_write", high, "It downloads a file with a system tool that is often used to hide downloads."}, `
		certutil ~urlcache
		bitsadmin ~transfer`},
	{rule{"autostart", high, "It schedules a command to run automatically later."}, `
		crontab !-l|-r
		at|batch|schtasks|register-scheduledtask`},
	{rule{"system", high, "It deletes all scheduled commands of this user."}, `crontab -r`},
	{rule{"system", high, "It changes the kernel or system settings of this machine."}, `
		insmod|rmmod|modprobe|swapoff|umount|bcdedit
		mount <>
		sysctl -w|-p|--write
		reg add|delete|import`},

	{rule{"drop_data", high, "It deletes tables or a whole database, including all data."}, `
		dropdb|dropuser
		mysqladmin =drop
		rails|rake|artisan|php =db:drop|db:reset|db:migrate:reset|migrate:fresh|migrate:reset|db:wipe
		prisma migrate|db reset|push --force|--force-reset|--accept-data-loss
		prisma migrate reset
		supabase db reset
		alembic downgrade
		mongo|mongosh ~dropDatabase(|~.drop(|~deleteMany({})|~remove({})`},
	{rule{"drop_data", high, "It empties a whole database."}, `
		redis-cli|valkey-cli =FLUSHALL|FLUSHDB|flushall|flushdb
		python ~manage.py =flush`},
	{rule{"drop_data", high, "It deletes volumes, including the data of any database in them."}, `
		docker|podman compose down -v|--volumes
		docker-compose down -v|--volumes
		docker|podman volume rm|prune
		docker|podman system prune --volumes`},

	{rule{"install", medium, "It installs a package, whose scripts can run on this machine."}, `
		npm|pnpm|yarn|bun install|i|add|dlx|create <> !--ignore-scripts
		pip|pipx|gem|cargo|conda|mamba|uv install|add|tool <-r|-e|-c|-i|-t|--requirement|--editable|--constraint|--path|--trusted-host|--index-url|--extra-index-url|--target|.>
		uv pip|tool install <-r|-e|--requirement|--editable|.>
		poetry|pdm add <>
		go install ~@
		go run ~@`},
	{rule{"install", medium, "It runs a package, which it may download first."}, `
		npx|bunx|pnpx|uvx <>
		pnpm|yarn dlx
		npm exec|x
		bun x
		pipx run
		uv tool run`},
	{rule{"install", medium, "It installs software system-wide."}, `
		apt|apt-get|dnf|yum|apk|zypper|brew|snap|choco|winget|port install|add|reinstall <>
		apt|apt-get|dnf|yum upgrade|dist-upgrade|full-upgrade
		pacman -S|-U !-s
		dpkg|rpm -i|--install`},
	{rule{"install", medium, "It removes software from the machine."}, `
		apt|apt-get|dnf|yum|apk|zypper|brew|snap|choco|winget|port remove|purge|autoremove|uninstall|erase|del
		pacman -R
		dpkg|rpm -r|-P|-e|--remove|--purge|--erase`},

	{rule{"overwrite", medium, "It overwrites a file. The previous content is lost."}, `
		truncate
		shred
		mv -f|--force`},
	{backgroundProcess, `
		nohup|setsid|disown !-h`},
	{detached, `
		screen -dm
		screen -d -m`},
}

// valueOptions are options before a nested command whose value is the next word. They are the same
// for most programs.
var valueOptions = strings.Fields(`-C -c -n -H -R -f -p -F -w -u --namespace --context --kubeconfig --kube-context --profile --region --output --repo --file --project-name
	--prefix --dir --filter --cwd --git-dir --work-tree --token --scope --env-file --endpoint-url --workspace --cluster --org --project`)

func newSet(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}
