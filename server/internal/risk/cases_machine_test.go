package risk

var machineCases = []commandCase{
	{"sudo apt-get install -y jq", []string{
		"high privileges: sudo apt-get install -y jq",
		"medium install: apt-get install -y jq",
	}},
	{"sudo rm -rf /etc/nginx/conf.d", []string{
		"high privileges: sudo rm -rf /etc/nginx/conf.d",
		"high recursive_delete: rm -rf /etc/nginx/conf.d",
	}},
	{"sudo -u postgres psql -c 'select 1'", []string{
		"high privileges: sudo -u postgres psql -c 'select 1'",
	}},
	{"su -c 'rm -rf /srv/x' admin", []string{
		"high privileges: su -c 'rm -rf /srv/x' admin",
		"high recursive_delete: rm -rf /srv/x",
	}},
	{"doas reboot", []string{
		"high privileges: doas reboot",
		"high system: reboot",
	}},
	{"chmod 777 run.sh", []string{
		"medium privileges: chmod 777 run.sh",
	}},
	{"chmod -R 777 .", []string{
		"medium privileges: chmod -R 777 .",
	}},
	{"chmod u+s /usr/bin/x", []string{
		"high privileges: chmod u+s /usr/bin/x",
		"high outside_cwd: chmod u+s /usr/bin/x",
	}},
	{"chmod 4755 x", []string{
		"high privileges: chmod 4755 x",
	}},
	{"chown -R root:root .", []string{
		"medium privileges: chown -R root:root .",
	}},
	{"setcap cap_net_raw+ep ./x", []string{
		"high privileges: setcap cap_net_raw+ep ./x",
	}},
	{"mkfs.ext4 /dev/sdb1", []string{
		"critical system: mkfs.ext4 /dev/sdb1",
	}},
	{"dd if=image.iso of=/dev/sda", []string{
		"critical system: dd if=image.iso of=/dev/sda",
	}},
	{"dd if=/dev/zero of=/etc/passwd", []string{
		"high outside_cwd: dd if=/dev/zero of=/etc/passwd",
	}},
	{"echo x > /dev/sda", []string{
		"critical system: echo x > /dev/sda",
	}},
	{"shutdown -h now", []string{
		"high system: shutdown -h now",
	}},
	{"kill -9 -1", []string{
		"critical system: kill -9 -1",
	}},
	{"killall node", []string{
		"medium system: killall node",
	}},
	{"pkill -f server", []string{
		"medium system: pkill -f server",
	}},
	{"systemctl -o cat stop nginx", []string{
		"high system: systemctl -o cat stop nginx",
	}},
	{"systemctl stop nginx", []string{
		"high system: systemctl stop nginx",
	}},
	{"systemctl --user disable x", []string{
		"high system: systemctl --user disable x",
	}},
	{"crontab -r", []string{
		"high system: crontab -r",
	}},
	{"crontab jobs.txt", []string{
		"high autostart: crontab jobs.txt",
	}},
	{"iptables -F", []string{
		"high system: iptables -F",
	}},
	{"ufw disable", []string{
		"high system: ufw disable",
	}},
	{"useradd bob", []string{
		"high privileges: useradd bob",
	}},
	{":(){ :|:& };:", []string{
		"critical system: :(){ :|:& };:",
		"low background: :",
	}},
	{"claude --dangerously-skip-permissions -p 'go'", []string{
		"high oversight: claude --dangerously-skip-permissions -p 'go'",
	}},
	{"codex --yolo", []string{
		"high oversight: codex --yolo",
	}},
	{"setenforce 0", []string{
		"high safety_off: setenforce 0",
	}},
	{"history -c", []string{
		"medium safety_off: history -c",
		"medium unreadable: history -c",
	}},
	{"nohup ./server > log.txt &", []string{
		"low background: nohup ./server",
	}},
	{"./server &", []string{
		"low background: ./server",
	}},
	{"npm run dev &", []string{
		"low background: npm run dev",
	}},
	{"setsid ./server", []string{
		"low background: setsid ./server",
	}},
	{"screen -dmS x ./server", []string{
		"high background: screen -dmS x ./server",
	}},
	{"tmux new-session -d -s x ./server", []string{
		"high background: tmux new-session -d -s x ./server",
	}},
	{"npm install left-pad", []string{
		"medium install: npm install left-pad",
	}},
	{"npm i -D typescript", []string{
		"medium install: npm i -D typescript",
	}},
	{"pnpm add zod", []string{
		"medium install: pnpm add zod",
	}},
	{"yarn add react", []string{
		"medium install: yarn add react",
	}},
	{"bun add hono", []string{
		"medium install: bun add hono",
	}},
	{"pip install requests", []string{
		"medium install: pip install requests",
	}},
	{"python -m pip install requests", []string{
		"medium install: pip install requests",
	}},
	{"pip3 install git+https://example.com/x", []string{
		"medium install: pip3 install git+https://example.com/x",
	}},
	{"uv add httpx", []string{
		"medium install: uv add httpx",
	}},
	{"cargo install ripgrep", []string{
		"medium install: cargo install ripgrep",
	}},
	{"gem install rails", []string{
		"medium install: gem install rails",
	}},
	{"go install example.com/x@latest", []string{
		"medium install: go install example.com/x@latest",
	}},
	{"apt-get install -y jq", []string{
		"medium install: apt-get install -y jq",
	}},
	{"brew install jq", []string{
		"medium install: brew install jq",
	}},
	{"brew uninstall jq", []string{
		"medium install: brew uninstall jq",
	}},
	{"pip install --trusted-host x -r requirements.txt", []string{
		"medium safety_off: pip install --trusted-host x -r requirements.txt",
	}},
	{"docker run --privileged -it ubuntu", []string{
		"high privileges: docker run --privileged -it ubuntu",
	}},
	{"docker run -v /:/host ubuntu", []string{
		"high privileges: docker run -v /:/host ubuntu",
	}},
	{"docker run -v /var/run/docker.sock:/var/run/docker.sock x", []string{
		"high privileges: docker run -v /var/run/docker.sock:/var/run/docker.sock x",
	}},
	{"echo 'alias ls=rm' >> ~/.bashrc", []string{
		"high autostart: echo 'alias ls=rm' >> ~/.bashrc",
	}},
	{"echo key >> ~/.ssh/authorized_keys", []string{
		"high autostart: echo key >> ~/.ssh/authorized_keys",
	}},
	{"echo x > /etc/hosts", []string{
		"high outside_cwd: echo x > /etc/hosts",
	}},
	{"sed -i s/a/b/ /etc/hosts", []string{
		"high outside_cwd: sed -i s/a/b/ /etc/hosts",
	}},
	{"cp x ../other/", []string{
		"medium outside_cwd: cp x ../other/",
	}},
	{"cp a.txt /home/dev/other/a.txt", []string{
		"medium outside_cwd: cp a.txt /home/dev/other/a.txt",
	}},
	{"mkdir -p ~/projects/new", []string{
		"medium outside_cwd: mkdir -p ~/projects/new",
	}},
	{"touch ../x", []string{
		"medium outside_cwd: touch ../x",
	}},
	{"tee /etc/apt/sources.list.d/x < a", []string{
		"high outside_cwd: tee /etc/apt/sources.list.d/x",
	}},
	{"ln -s a ../b", []string{
		"medium outside_cwd: ln -s a ../b",
	}},
	{"tar xf a.tar -C /opt", []string{
		"medium outside_cwd: tar xf a.tar -C /opt",
	}},
	{"mv src ../backup", []string{
		"medium outside_cwd: mv src ../backup",
	}},
	{"echo '{}' > package.json", []string{
		"medium overwrite: echo '{}' > package.json",
	}},
	{": > .env", []string{
		"medium overwrite: : > .env",
	}},
	{"cat a > ../b", []string{
		"medium outside_cwd: cat a > ../b",
	}},
	{"echo x > .git/hooks/pre-commit", []string{
		"high runs_later: echo x > .git/hooks/pre-commit",
	}},
	{"typeset -x LD_PRELOAD=./x", []string{
		"high sets_variable: typeset -x LD_PRELOAD=./x",
	}},
	{"printf -v PATH .", []string{
		"high sets_variable: printf -v PATH .",
	}},
	{"read -r PATH <<< .", []string{
		"high sets_variable: read -r PATH",
	}},
	{"printf -v line '%s' x", nil},
	{"printf -v out 'PATH=%s' x", nil},
	{"read -r line", nil},
	{"npm --dry-run false publish", []string{
		"high publish: npm --dry-run false publish",
	}},
	{"npm --yes true publish", []string{
		"high publish: npm --yes true publish",
	}},
	{"kubectl --dry-run none apply -f x", []string{
		"high deploy: kubectl --dry-run none apply -f x",
	}},
	{"pip install -tout evil", []string{
		"medium install: pip install -tout evil",
	}},
	{"gem install -v1.0.rc pkg", []string{
		"medium install: gem install -v1.0.rc pkg",
	}},
	{"pip install evil -r req.txt", []string{
		"medium install: pip install evil -r req.txt",
	}},
	{"pip install -r req.txt evil", []string{
		"medium install: pip install -r req.txt evil",
	}},
	{"pip install . evil", []string{
		"medium install: pip install . evil",
	}},
	{"pip install -r req.txt", nil},
	{"pip install -qr req.txt", nil},
	{"pip install -e .", nil},
	{"pip install .", nil},
	{"uv pip install evil -r req.txt", []string{
		"medium install: uv pip install evil -r req.txt",
	}},
	{"uv pip install -r req.txt", nil},
	{"conda install -c conda-forge x", []string{
		"medium install: conda install -c conda-forge x",
	}},
	{"cargo install --path .", nil},
	{"echo 'alias git=x' >> ~/.bash_aliases", []string{
		"high autostart: echo 'alias git=x' >> ~/.bash_aliases",
	}},
	{"echo LD_PRELOAD=x > ~/.config/environment.d/a.conf", []string{
		"high autostart: echo LD_PRELOAD=x > ~/.config/environment.d/a.conf",
	}},
	{"tee ~/.vimrc < x", []string{
		"high autostart: tee ~/.vimrc",
	}},
	{"cp hook ~/.config/git/hooks/pre-commit", []string{
		"high autostart: cp hook ~/.config/git/hooks/pre-commit",
	}},
	{"cp x .pre-commit-config.yaml", []string{
		"high runs_later: cp x .pre-commit-config.yaml",
	}},
	{"cat ~/.vimrc", nil},
}
