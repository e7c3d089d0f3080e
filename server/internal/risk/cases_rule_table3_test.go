package risk

var ruleTableCases3 = []commandCase{
	{"parted thing", []string{
		"critical system: parted thing",
	}},
	{"wipefs thing", []string{
		"critical system: wipefs thing",
	}},
	{"format thing", []string{
		"critical system: format thing",
	}},
	{"format-volume thing", []string{
		"critical system: format-volume thing",
	}},
	{"clear-disk thing", []string{
		"critical system: clear-disk thing",
	}},
	{"diskutil eraseDisk", []string{
		"critical system: diskutil eraseDisk",
	}},
	{"diskutil eraseVolume", []string{
		"critical system: diskutil eraseVolume",
	}},
	{"diskutil partitionDisk", []string{
		"critical system: diskutil partitionDisk",
	}},
	{"shutdown", []string{
		"high system: shutdown",
	}},
	{"reboot", []string{
		"high system: reboot",
	}},
	{"halt", []string{
		"high system: halt",
	}},
	{"poweroff", []string{
		"high system: poweroff",
	}},
	{"stop-computer", []string{
		"high system: stop-computer",
	}},
	{"restart-computer", []string{
		"high system: restart-computer",
	}},
	{"init 0", []string{
		"high system: init 0",
	}},
	{"init 6", []string{
		"high system: init 6",
	}},
	{"systemctl poweroff", []string{
		"high system: systemctl poweroff",
	}},
	{"systemctl reboot", []string{
		"high system: systemctl reboot",
	}},
	{"systemctl halt", []string{
		"high system: systemctl halt",
	}},
	{"systemctl suspend", []string{
		"high system: systemctl suspend",
	}},
	{"systemctl kexec", []string{
		"high system: systemctl kexec",
	}},
	{"killall", []string{
		"medium system: killall",
	}},
	{"pkill", []string{
		"medium system: pkill",
	}},
	{"taskkill /IM", []string{
		"medium system: taskkill /IM",
	}},
	{"taskkill /im", []string{
		"medium system: taskkill /im",
	}},
	{"systemctl stop", []string{
		"high system: systemctl stop",
	}},
	{"systemctl disable", []string{
		"high system: systemctl disable",
	}},
	{"systemctl mask", []string{
		"high system: systemctl mask",
	}},
	{"systemctl kill", []string{
		"high system: systemctl kill",
	}},
	{"systemctl restart", []string{
		"high system: systemctl restart",
	}},
	{"systemctl start", []string{
		"high system: systemctl start",
	}},
	{"systemctl enable", []string{
		"high system: systemctl enable",
	}},
	{"systemctl edit", []string{
		"high system: systemctl edit",
	}},
	{"systemctl isolate", []string{
		"high system: systemctl isolate",
	}},
	{"service thing stop", []string{
		"high system: service thing stop",
	}},
	{"service thing restart", []string{
		"high system: service thing restart",
	}},
	{"service thing start", []string{
		"high system: service thing start",
	}},
	{"launchctl unload", []string{
		"high system: launchctl unload",
	}},
	{"launchctl bootout", []string{
		"high system: launchctl bootout",
	}},
	{"launchctl remove", []string{
		"high system: launchctl remove",
	}},
	{"launchctl load", []string{
		"high system: launchctl load",
	}},
	{"launchctl bootstrap", []string{
		"high system: launchctl bootstrap",
	}},
	{"launchctl disable", []string{
		"high system: launchctl disable",
	}},
	{"iptables", []string{
		"high system: iptables",
	}},
	{"ip6tables", []string{
		"high system: ip6tables",
	}},
	{"nft thing", []string{
		"high system: nft thing",
	}},
	{"pfctl thing", []string{
		"high system: pfctl thing",
	}},
	{"netsh thing", []string{
		"high system: netsh thing",
	}},
	{"ufw allow", []string{
		"high system: ufw allow",
	}},
	{"ufw reset", []string{
		"high system: ufw reset",
	}},
	{"ufw delete", []string{
		"high system: ufw delete",
	}},
	{"ufw deny", []string{
		"high system: ufw deny",
	}},
	{"ufw enable", []string{
		"high system: ufw enable",
	}},
	{"crontab", []string{
		"high autostart: crontab",
	}},
	{"at", []string{
		"high autostart: at",
	}},
	{"batch", []string{
		"high autostart: batch",
	}},
	{"schtasks", []string{
		"high autostart: schtasks",
	}},
	{"register-scheduledtask", []string{
		"high autostart: register-scheduledtask",
	}},
	{"insmod", []string{
		"high system: insmod",
	}},
	{"rmmod", []string{
		"high system: rmmod",
	}},
	{"modprobe", []string{
		"high system: modprobe",
	}},
	{"swapoff", []string{
		"high system: swapoff",
	}},
	{"umount", []string{
		"high system: umount",
	}},
	{"bcdedit", []string{
		"high system: bcdedit",
	}},
	{"mount thing", []string{
		"high system: mount thing",
	}},
	{"sysctl -w", []string{
		"high system: sysctl -w",
	}},
	{"sysctl -p", []string{
		"high system: sysctl -p",
	}},
	{"sysctl --write", []string{
		"high system: sysctl --write",
	}},
	{"reg add", []string{
		"high system: reg add",
	}},
	{"reg delete", []string{
		"high system: reg delete",
	}},
	{"reg import", []string{
		"high system: reg import",
	}},
	{"dropdb", []string{
		"high drop_data: dropdb",
	}},
	{"dropuser", []string{
		"high drop_data: dropuser",
	}},
	{"mysqladmin drop", []string{
		"high drop_data: mysqladmin drop",
	}},
	{"rake db:reset", []string{
		"high drop_data: rake db:reset",
	}},
	{"artisan db:migrate:reset", []string{
		"high drop_data: artisan db:migrate:reset",
	}},
	{"php migrate:fresh", []string{
		"high drop_data: php migrate:fresh",
	}},
	{"rails migrate:reset", []string{
		"high drop_data: rails migrate:reset",
	}},
	{"rake db:wipe", []string{
		"high drop_data: rake db:wipe",
	}},
	{"prisma migrate reset --force", []string{
		"high drop_data: prisma migrate reset --force",
	}},
	{"prisma db push --force-reset", []string{
		"high drop_data: prisma db push --force-reset",
	}},
	{"prisma migrate reset --accept-data-loss", []string{
		"high drop_data: prisma migrate reset --accept-data-loss",
	}},
	{"prisma migrate reset", []string{
		"high drop_data: prisma migrate reset",
	}},
	{"supabase db reset", []string{
		"high drop_data: supabase db reset",
	}},
	{"alembic downgrade", []string{
		"high drop_data: alembic downgrade",
	}},
	{"mongo 'db.dropDatabase('", []string{
		"high drop_data: mongo 'db.dropDatabase('",
	}},
	{"mongosh 'db.drop('", []string{
		"high drop_data: mongosh 'db.drop('",
	}},
	{"mongo 'db.deleteMany({})'", []string{
		"high drop_data: mongo 'db.deleteMany({})'",
	}},
	{"mongosh 'db.remove({})'", []string{
		"high drop_data: mongosh 'db.remove({})'",
	}},
	{"valkey-cli FLUSHDB", []string{
		"high drop_data: valkey-cli FLUSHDB",
	}},
	{"redis-cli flushall", []string{
		"high drop_data: redis-cli flushall",
	}},
	{"valkey-cli flushdb", []string{
		"high drop_data: valkey-cli flushdb",
	}},
	{"python xmanage.pyx flush", []string{
		"high drop_data: python xmanage.pyx flush",
	}},
	{"podman compose down --volumes", []string{
		"high drop_data: podman compose down --volumes",
	}},
	{"docker-compose down -v", []string{
		"high drop_data: docker-compose down -v",
	}},
	{"docker-compose down --volumes", []string{
		"high drop_data: docker-compose down --volumes",
	}},
	{"docker volume rm", []string{
		"high drop_data: docker volume rm",
	}},
	{"podman volume prune", []string{
		"high drop_data: podman volume prune",
	}},
	{"docker system prune --volumes", []string{
		"high drop_data: docker system prune --volumes",
	}},
	{"podman system prune --volumes", []string{
		"high drop_data: podman system prune --volumes",
	}},
	{"npm install thing", []string{
		"medium install: npm install thing",
	}},
	{"pnpm i thing", []string{
		"medium install: pnpm i thing",
	}},
	{"yarn add thing", []string{
		"medium install: yarn add thing",
	}},
	{"bun dlx thing", []string{
		"medium install: bun dlx thing",
	}},
	{"npm create thing", []string{
		"medium install: npm create thing",
	}},
	{"pip install thing", []string{
		"medium install: pip install thing",
	}},
	{"pipx add thing", []string{
		"medium install: pipx add thing",
	}},
	{"gem tool thing", []string{
		"medium install: gem tool thing",
	}},
	{"cargo install thing", []string{
		"medium install: cargo install thing",
	}},
	{"conda add thing", []string{
		"medium install: conda add thing",
	}},
	{"mamba tool thing", []string{
		"medium install: mamba tool thing",
	}},
	{"uv install thing", []string{
		"medium install: uv install thing",
	}},
	{"uv pip install thing", []string{
		"medium install: uv pip install thing",
	}},
	{"uv tool install thing", []string{
		"medium install: uv tool install thing",
	}},
	{"poetry add thing", []string{
		"medium install: poetry add thing",
	}},
	{"pdm add thing", []string{
		"medium install: pdm add thing",
	}},
	{"go install x@x", []string{
		"medium install: go install x@x",
	}},
	{"go run x@x", []string{
		"medium install: go run x@x",
	}},
	{"apt install thing", []string{
		"medium install: apt install thing",
	}},
	{"apt-get add thing", []string{
		"medium install: apt-get add thing",
	}},
	{"dnf reinstall thing", []string{
		"medium install: dnf reinstall thing",
	}},
	{"yum install thing", []string{
		"medium install: yum install thing",
	}},
	{"apk add thing", []string{
		"medium install: apk add thing",
	}},
	{"zypper reinstall thing", []string{
		"medium install: zypper reinstall thing",
	}},
	{"brew install thing", []string{
		"medium install: brew install thing",
	}},
	{"snap add thing", []string{
		"medium install: snap add thing",
	}},
	{"choco reinstall thing", []string{
		"medium install: choco reinstall thing",
	}},
	{"winget install thing", []string{
		"medium install: winget install thing",
	}},
	{"port add thing", []string{
		"medium install: port add thing",
	}},
	{"apt upgrade", []string{
		"medium install: apt upgrade",
	}},
	{"apt-get dist-upgrade", []string{
		"medium install: apt-get dist-upgrade",
	}},
	{"dnf full-upgrade", []string{
		"medium install: dnf full-upgrade",
	}},
	{"yum upgrade", []string{
		"medium install: yum upgrade",
	}},
	{"pacman -S", []string{
		"medium install: pacman -S",
	}},
	{"pacman -U", []string{
		"medium install: pacman -U",
	}},
	{"dpkg -i", []string{
		"medium install: dpkg -i",
	}},
	{"rpm --install", []string{
		"medium install: rpm --install",
	}},
	{"apt remove", []string{
		"medium install: apt remove",
	}},
	{"apt-get purge", []string{
		"medium install: apt-get purge",
	}},
	{"dnf autoremove", []string{
		"medium install: dnf autoremove",
	}},
	{"yum uninstall", []string{
		"medium install: yum uninstall",
	}},
	{"apk erase", []string{
		"medium install: apk erase",
	}},
	{"zypper del", []string{
		"medium install: zypper del",
	}},
	{"brew remove", []string{
		"medium install: brew remove",
	}},
	{"snap purge", []string{
		"medium install: snap purge",
	}},
	{"choco autoremove", []string{
		"medium install: choco autoremove",
	}},
	{"winget uninstall", []string{
		"medium install: winget uninstall",
	}},
	{"port erase", []string{
		"medium install: port erase",
	}},
	{"pacman -R", []string{
		"medium install: pacman -R",
	}},
	{"dpkg -r", []string{
		"medium install: dpkg -r",
	}},
	{"rpm -P", []string{
		"medium install: rpm -P",
	}},
	{"dpkg -e", []string{
		"medium install: dpkg -e",
	}},
	{"rpm --remove", []string{
		"medium install: rpm --remove",
	}},
	{"dpkg --purge", []string{
		"medium install: dpkg --purge",
	}},
	{"rpm --erase", []string{
		"medium install: rpm --erase",
	}},
	{"truncate", []string{
		"medium overwrite: truncate",
	}},
	{"shred", []string{
		"medium overwrite: shred",
	}},
	{"mv -f", []string{
		"medium overwrite: mv -f",
	}},
	{"mv --force", []string{
		"medium overwrite: mv --force",
	}},
	{"nohup", []string{
		"low background: nohup",
	}},
	{"setsid", []string{
		"low background: setsid",
	}},
	{"disown", []string{
		"low background: disown",
	}},
	{"screen -dm", []string{
		"high background: screen -dm",
	}},
	{"screen -d -m", []string{
		"high background: screen -d -m",
	}},
	{"tmux new-session -d", []string{
		"high background: tmux new-session -d",
	}},
	{"tmux new -d", []string{
		"high background: tmux new -d",
	}},
}
