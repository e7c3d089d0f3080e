package risk

import "strings"

// tableRow is a rule with the commands it is about, one pattern a line.
//
// A pattern is what a person would type: the program, then its own commands, then
// what must be among the arguments. Alternatives stand between bars. -f|--force is
// an option, alone or in a cluster (-rf); =word is an argument that is just that,
// ~text one that contains it, word… one that begins so; <> is any operand. What
// stands behind ! must not be there.
type tableRow struct {
	rule
	patterns string
}

// ruleTable is every rule that a pattern can tell. What takes more is in programs.
var ruleTable = []tableRow{
	{rule{"recursive_delete", high, "It deletes every file that it finds, in all folders below."}, `find =-delete`},
	{rule{"recursive_delete", high, "It deletes every file that git does not know, folders included."}, `git clean -f|--force !-n|--dry-run`},
	{rule{"recursive_delete", medium, "It deletes containers and images that nothing uses right now."}, `
		docker|podman system|image|container|builder prune !--volumes
		docker|podman rmi -f|--force`},

	{rule{"oversight", high, "It takes out the hooks that ask you."}, `hookback uninstall !--dry-run`},

	{rule{"force_push", high, "It replaces the history on the server: what others have pushed there may be lost."}, `
		git push -f|--force|--mirror !-n|--dry-run
		git push +… !-n|--dry-run`},
	{rule{"force_push", medium, "It replaces the history on the server, unless someone else has pushed in the meantime."}, `
		git push --force-with-lease !-f|--force|-n|--dry-run`},
	{rule{"force_push", high, "It deletes a branch or a tag on the server."}, `
		git push -d|--delete|--prune !-n|--dry-run
		git push :… !-n|--dry-run`},
	{rule{"rewrite_history", high, "It rewrites the project's whole history."}, `
		git filter-repo|filter-branch
		git-filter-repo|bfg`},
	{rule{"rewrite_history", medium, "Commits that nothing else points to may be lost."}, `
		git branch -D
		git branch -d|--delete -f|--force
		git reflog expire|delete
		git update-ref -d
		git gc =--prune=now|--prune=all`},
	{rule{"discard_changes", high, "It throws away every change that is not committed."}, `git reset --hard|--merge`},
	{rule{"discard_changes", medium, "It throws away changes that are not committed."}, `
		git checkout =--|. !-b
		git checkout|switch -f|--force|--discard-changes
		git restore !-S|--staged
		git restore -W|--worktree
		git stash drop|clear
		git worktree remove -f|--force`},

	{rule{"publish", low, "It sends commits to a server, where others see them."}, `
		git push !-f|-n|-d|--force|--force-with-lease|--mirror|--dry-run|--delete|--prune|:…|+…`},
	{rule{"publish", high, "It publishes something for everyone; that can hardly be taken back."}, `
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
	{rule{"deploy", high, "It changes what runs on other machines."}, `
		kubectl|oc apply|create|replace|patch|edit|scale|set|run|expose|cordon|annotate|label|cp !--dry-run…
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
	{rule{"deploy", high, "It deletes what runs or is stored on other machines."}, `
		kubectl|oc delete|drain !--dry-run…
		terraform|tofu|terragrunt destroy
		aws s3|s3api rm|rb
		aws <> delete-…|terminate-…
		gcloud|az|doctl|heroku =delete|destroy|apps:destroy|pg:reset
		gh repo|release|issue|run|secret|variable delete
		gsutil rm|rb`},
	{rule{"network_write", medium, "It changes what is stored or runs in the cloud."}, `
		aws <> create-…|put-…|update-…|run-…|start-…|stop-…|modify-…|attach-…|detach-…|publish|send-…|deploy
		gcloud|az|doctl|heroku =create|update|set|ssh|scp|config:set|add-iam-policy-binding
		gsutil cp|mv|rsync`},
	{rule{"network_write", medium, "It sends data to a server, or changes something there."}, `
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
	{rule{"network_write", medium, "It opens a bare connection to another machine."}, `
		nc|ncat|netcat <> !-z|-l|-e|-c|--exec|--sh-exec|=localhost|127.0.0.1
		telnet <> !=localhost|127.0.0.1`},
	{rule{"network_write", medium, "It sends a message to somebody."}, `mail|mailx|sendmail|mutt`},
	{rule{"network_write", critical, "It lets another machine run commands on this one."}, `
		nc|ncat|netcat -e|-c|--exec|--sh-exec
		socat ~EXEC:|~exec:|~SYSTEM:|~system:`},

	{rule{"reads_secret", high, "It reads keys or passwords."}, `
		security find-generic-password|find-internet-password|dump-keychain
		pass show
		vault read|kv
		gpg --export-secret-keys|--export-secret-subkeys
		gh auth token
		gcloud auth print-access-token|print-identity-token
		aws secretsmanager get-secret-value
		kubectl|oc get secret|secrets -o|--output
		op read
		op item get`},
	{rule{"reads_secret", high, "It asks a cloud machine for its own credentials."}, `
		curl|wget|iwr|irm|http ~169.254.169.254|~metadata.google.internal`},

	{rule{"safety_off", medium, "It switches off the checks that run before a commit or a push."}, `
		git commit|push|merge|am --no-verify
		git commit =-n|-an|-nm|-anm
		git ~core.hooksPath=|~core.hookspath=
		git config =core.hooksPath|core.hookspath !--get|--unset`},
	{rule{"safety_off", medium, "It does not check whom it is talking to."}, `
		curl -k|--insecure|--proxy-insecure
		wget --no-check-certificate
		ssh|scp|sftp|rsync ~StrictHostKeyChecking=no|~UserKnownHostsFile=/dev/null
		git ~sslVerify=false|~sslverify=false
		git config =http.sslVerify =false
		npm config set =strict-ssl =false
		pip install --trusted-host`},
	{rule{"safety_off", high, "It starts an agent that asks nobody before it acts."}, `
		claude --dangerously-skip-permissions
		claude ~bypassPermissions
		codex --dangerously-bypass-approvals-and-sandbox|--full-auto|--yolo
		gemini|qwen -y|--yolo
		aider --yes-always
		cursor-agent -f|--force`},
	{rule{"safety_off", high, "It switches off what keeps this machine in bounds."}, `
		setenforce 0
		spctl --master-disable|--global-disable
		csrutil disable
		set-executionpolicy|set-mppreference
		powershell|pwsh =Bypass|bypass|Unrestricted|unrestricted
		xattr =com.apple.quarantine`},
	{rule{"safety_off", medium, "It keeps what was run from being recorded."}, `
		history -c
		unset =HISTFILE`},

	{rule{"privileges", high, "It runs with the rights of the administrator."}, `sudo|doas|su|pkexec|run0|gsudo|runas`},
	{rule{"privileges", high, "It gives a program rights beyond those of its user."}, `
		setcap <>
		chmod u+s|g+s|+s|ug+s|4755|4777|2755|6755`},
	{rule{"privileges", medium, "It lets every user of this machine change the file."}, `chmod =777|0777|666|0666|a+rwx|a+w|o+w|ugo+rwx`},
	{rule{"privileges", medium, "It gives a folder and everything in it to another user."}, `chown|chgrp -R|--recursive`},
	{rule{"privileges", high, "It changes the users of this machine, or their passwords."}, `visudo|passwd|chpasswd|useradd|usermod|userdel|adduser|deluser|groupadd`},
	{rule{"privileges", high, "It runs a container that can change this machine."}, `
		docker|podman run|exec|create --privileged
		docker|podman run|create =--pid=host|--net=host
		docker|podman run|create /:…|~docker.sock:`},

	{rule{"system", critical, "It formats a disk: everything on it is lost."}, `
		mkfs|fdisk|parted|wipefs|format|format-volume|clear-disk <> !-l|--list
		diskutil eraseDisk|eraseVolume|partitionDisk`},
	{rule{"system", high, "It switches the machine off, or starts it anew."}, `
		shutdown|reboot|halt|poweroff|stop-computer|restart-computer
		init 0|6
		systemctl poweroff|reboot|halt|suspend|kexec`},
	{rule{"system", medium, "It ends every program of that name, also those that others started."}, `
		killall|pkill !-0|-l|--list
		taskkill =/IM|/im`},
	{rule{"system", high, "It stops or changes a service of this machine."}, `
		systemctl stop|disable|mask|kill|restart|start|enable|edit|isolate
		service <> stop|restart|start
		launchctl unload|bootout|remove|load|bootstrap|disable`},
	{rule{"system", high, "It changes who may reach this machine."}, `
		iptables|ip6tables !-L|-S|--list|--list-rules
		nft|pfctl|netsh <> !=list|show
		ufw disable|allow|reset|delete|deny|enable`},
	{rule{"autostart", high, "It has something run by itself later on."}, `
		crontab !-l|-r
		at|batch|schtasks|register-scheduledtask`},
	{rule{"system", high, "It deletes everything that is to run by itself on this machine."}, `crontab -r`},
	{rule{"system", high, "It changes the kernel or the settings of the machine."}, `
		insmod|rmmod|modprobe|swapoff|umount|bcdedit
		mount <>
		sysctl -w|-p|--write
		reg add|delete|import`},

	{rule{"drop_data", high, "It deletes tables or a database with everything in them."}, `
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
	{rule{"drop_data", high, "It deletes volumes with the data of databases in them."}, `
		docker|podman compose down -v|--volumes
		docker-compose down -v|--volumes
		docker|podman volume rm|prune
		docker|podman system prune --volumes`},

	{rule{"install", medium, "It downloads a package whose own scripts run on this machine."}, `
		npm|pnpm|yarn|bun install|i|add|dlx|create <> !--ignore-scripts
		pip|pipx|gem|cargo|conda|mamba|uv install|add|tool <> !-r|-e|--requirement|--editable|=.|-c
		uv pip|tool install <> !-r|-e|=.
		poetry|pdm add <>
		go install ~@
		go run ~@`},
	{rule{"install", medium, "It installs software for the whole machine."}, `
		apt|apt-get|dnf|yum|apk|zypper|brew|snap|choco|winget|port install|add|reinstall <>
		apt|apt-get|dnf|yum upgrade|dist-upgrade|full-upgrade
		pacman -S|-U !-s
		dpkg|rpm -i|--install`},
	{rule{"install", medium, "It removes software from the machine."}, `
		apt|apt-get|dnf|yum|apk|zypper|brew|snap|choco|winget|port remove|purge|autoremove|uninstall|erase|del
		pacman -R
		dpkg|rpm -r|-P|-e|--remove|--purge|--erase`},

	{rule{"overwrite", medium, "What the file held before is lost."}, `
		truncate
		shred
		mv -f|--force`},
	{backgroundProcess, `
		nohup|setsid|disown !-h
		screen -dm
		screen -d -m
		tmux new-session|new -d`},
}

// valueOptions are the options before a program's own command whose value is the next
// word. They are the same for most programs.
var valueOptions = newSet(`-C -c -n -H -R -f -p -F -w -u --namespace --context --kubeconfig --kube-context --profile --region --output --repo --file --project-name
	--prefix --dir --filter --cwd --git-dir --work-tree --token --scope --env-file --endpoint-url --workspace --cluster --org --project`)

func newSet(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}
