package risk

var ruleTableCases2 = []commandCase{
	{"gh api PATCH", []string{
		"medium network_write: gh api PATCH",
	}},
	{"glab api DELETE", []string{
		"medium network_write: glab api DELETE",
	}},
	{"gh api -XPOST", []string{
		"medium network_write: gh api -XPOST",
	}},
	{"glab api -XPUT", []string{
		"medium network_write: glab api -XPUT",
	}},
	{"gh api -XPATCH", []string{
		"medium network_write: gh api -XPATCH",
	}},
	{"glab api -XDELETE", []string{
		"medium network_write: glab api -XDELETE",
	}},
	{"gh api -f", []string{
		"medium network_write: gh api -f",
	}},
	{"glab api -F", []string{
		"medium network_write: glab api -F",
	}},
	{"gh api --field", []string{
		"medium network_write: gh api --field",
	}},
	{"glab api --raw-field", []string{
		"medium network_write: glab api --raw-field",
	}},
	{"gh api --input", []string{
		"medium network_write: gh api --input",
	}},
	{"gh workflow run", []string{
		"medium network_write: gh workflow run",
	}},
	{"gh run rerun", []string{
		"medium network_write: gh run rerun",
	}},
	{"gh secret cancel", []string{
		"medium network_write: gh secret cancel",
	}},
	{"gh variable set", []string{
		"medium network_write: gh variable set",
	}},
	{"gh workflow enable", []string{
		"medium network_write: gh workflow enable",
	}},
	{"gh run disable", []string{
		"medium network_write: gh run disable",
	}},
	{"wget --post-data", []string{
		"medium network_write: wget --post-data",
	}},
	{"wget --post-file", []string{
		"medium network_write: wget --post-file",
	}},
	{"wget --body-data", []string{
		"medium network_write: wget --body-data",
	}},
	{"wget --body-file", []string{
		"medium network_write: wget --body-file",
	}},
	{"wget --method", []string{
		"medium network_write: wget --method",
	}},
	{"http POST", []string{
		"medium network_write: http POST",
	}},
	{"https PUT", []string{
		"medium network_write: https PUT",
	}},
	{"xh PATCH", []string{
		"medium network_write: xh PATCH",
	}},
	{"http DELETE", []string{
		"medium network_write: http DELETE",
	}},
	{"invoke-webrequest POST", []string{
		"medium network_write: invoke-webrequest POST",
	}},
	{"invoke-restmethod PUT", []string{
		"medium network_write: invoke-restmethod PUT",
	}},
	{"iwr PATCH", []string{
		"medium network_write: iwr PATCH",
	}},
	{"irm DELETE", []string{
		"medium network_write: irm DELETE",
	}},
	{"invoke-webrequest Post", []string{
		"medium network_write: invoke-webrequest Post",
	}},
	{"invoke-restmethod Put", []string{
		"medium network_write: invoke-restmethod Put",
	}},
	{"iwr Patch", []string{
		"medium network_write: iwr Patch",
	}},
	{"irm Delete", []string{
		"medium network_write: irm Delete",
	}},
	{"sftp", []string{
		"medium network_write: sftp",
	}},
	{"ftp", []string{
		"medium network_write: ftp",
	}},
	{"tftp", []string{
		"medium network_write: tftp",
	}},
	{"rclone copy", []string{
		"medium network_write: rclone copy",
	}},
	{"rclone sync", []string{
		"medium network_write: rclone sync",
	}},
	{"rclone move", []string{
		"medium network_write: rclone move",
	}},
	{"rclone copyto", []string{
		"medium network_write: rclone copyto",
	}},
	{"rclone moveto", []string{
		"medium network_write: rclone moveto",
	}},
	{"rclone delete", []string{
		"medium network_write: rclone delete",
	}},
	{"rclone purge", []string{
		"medium network_write: rclone purge",
	}},
	{"nc thing", []string{
		"medium network_write: nc thing",
	}},
	{"ncat thing", []string{
		"medium network_write: ncat thing",
	}},
	{"netcat thing", []string{
		"medium network_write: netcat thing",
	}},
	{"telnet thing", []string{
		"medium network_write: telnet thing",
	}},
	{"mail", []string{
		"medium network_write: mail",
	}},
	{"mailx", []string{
		"medium network_write: mailx",
	}},
	{"sendmail", []string{
		"medium network_write: sendmail",
	}},
	{"mutt", []string{
		"medium network_write: mutt",
	}},
	{"nc -e", []string{
		"critical network_write: nc -e",
	}},
	{"ncat -c", []string{
		"critical network_write: ncat -c",
	}},
	{"netcat --exec", []string{
		"critical network_write: netcat --exec",
	}},
	{"nc --sh-exec", []string{
		"critical network_write: nc --sh-exec",
	}},
	{"socat xEXEC:x", []string{
		"critical network_write: socat xEXEC:x",
	}},
	{"socat xexec:x", []string{
		"critical network_write: socat xexec:x",
	}},
	{"socat xSYSTEM:x", []string{
		"critical network_write: socat xSYSTEM:x",
	}},
	{"socat xsystem:x", []string{
		"critical network_write: socat xsystem:x",
	}},
	{"security find-generic-password", []string{
		"high reads_secret: security find-generic-password",
	}},
	{"security find-internet-password", []string{
		"high reads_secret: security find-internet-password",
	}},
	{"security dump-keychain", []string{
		"high reads_secret: security dump-keychain",
	}},
	{"pass show", []string{
		"high reads_secret: pass show",
	}},
	{"vault read", []string{
		"high reads_secret: vault read",
	}},
	{"vault kv", []string{
		"high reads_secret: vault kv",
	}},
	{"gpg --export-secret-subkeys", []string{
		"high reads_secret: gpg --export-secret-subkeys",
	}},
	{"gcloud auth print-access-token", []string{
		"high reads_secret: gcloud auth print-access-token",
	}},
	{"gcloud auth print-identity-token", []string{
		"high reads_secret: gcloud auth print-identity-token",
	}},
	{"aws secretsmanager get-secret-value", []string{
		"high reads_secret: aws secretsmanager get-secret-value",
	}},
	{"kubectl get secret -o", []string{
		"high reads_secret: kubectl get secret -o",
	}},
	{"oc get secrets --output", []string{
		"high reads_secret: oc get secrets --output",
	}},
	{"op read", []string{
		"high reads_secret: op read",
	}},
	{"op item get", []string{
		"high reads_secret: op item get",
	}},
	{"curl x169.254.169.254x", []string{
		"high reads_secret: curl x169.254.169.254x",
	}},
	{"wget xmetadata.google.internalx", []string{
		"high reads_secret: wget xmetadata.google.internalx",
	}},
	{"iwr x169.254.169.254x", []string{
		"high reads_secret: iwr x169.254.169.254x",
	}},
	{"irm xmetadata.google.internalx", []string{
		"high reads_secret: irm xmetadata.google.internalx",
	}},
	{"http x169.254.169.254x", []string{
		"high reads_secret: http x169.254.169.254x",
	}},
	{"git commit --no-verify", []string{
		"medium safety_off: git commit --no-verify",
	}},
	{"git merge --no-verify", []string{
		"medium safety_off: git merge --no-verify",
	}},
	{"git am --no-verify", []string{
		"medium safety_off: git am --no-verify",
	}},
	{"git commit -n", []string{
		"medium safety_off: git commit -n",
	}},
	{"git commit -an", []string{
		"medium safety_off: git commit -an",
	}},
	{"git commit -nm", []string{
		"medium safety_off: git commit -nm",
	}},
	{"git commit -anm", []string{
		"medium safety_off: git commit -anm",
	}},
	{"git xcore.hooksPath=x", []string{
		"medium safety_off: git xcore.hooksPath=x",
	}},
	{"git xcore.hookspath=x", []string{
		"medium safety_off: git xcore.hookspath=x",
	}},
	{"git config core.hooksPath", []string{
		"medium safety_off: git config core.hooksPath",
	}},
	{"git config core.hookspath", []string{
		"medium safety_off: git config core.hookspath",
	}},
	{"curl -k", []string{
		"medium safety_off: curl -k",
	}},
	{"curl --insecure", []string{
		"medium safety_off: curl --insecure",
	}},
	{"curl --proxy-insecure", []string{
		"medium safety_off: curl --proxy-insecure",
	}},
	{"wget --no-check-certificate", []string{
		"medium safety_off: wget --no-check-certificate",
	}},
	{"ssh xStrictHostKeyChecking=nox", []string{
		"medium safety_off: ssh xStrictHostKeyChecking=nox",
	}},
	{"scp xUserKnownHostsFile=/dev/nullx", []string{
		"medium safety_off: scp xUserKnownHostsFile=/dev/nullx",
	}},
	{"sftp xStrictHostKeyChecking=nox", []string{
		"medium network_write: sftp xStrictHostKeyChecking=nox",
		"medium safety_off: sftp xStrictHostKeyChecking=nox",
	}},
	{"rsync xUserKnownHostsFile=/dev/nullx", []string{
		"medium safety_off: rsync xUserKnownHostsFile=/dev/nullx",
	}},
	{"git xsslVerify=falsex", []string{
		"medium safety_off: git xsslVerify=falsex",
	}},
	{"git xsslverify=falsex", []string{
		"medium safety_off: git xsslverify=falsex",
	}},
	{"git config http.sslVerify false", []string{
		"medium safety_off: git config http.sslVerify false",
	}},
	{"npm config set strict-ssl false", []string{
		"medium safety_off: npm config set strict-ssl false",
	}},
	{"pip install --trusted-host", []string{
		"medium safety_off: pip install --trusted-host",
	}},
	{"claude --dangerously-skip-permissions", []string{
		"high oversight: claude --dangerously-skip-permissions",
	}},
	{"claude xbypassPermissionsx", []string{
		"high oversight: claude xbypassPermissionsx",
	}},
	{"codex --dangerously-bypass-approvals-and-sandbox", []string{
		"high oversight: codex --dangerously-bypass-approvals-and-sandbox",
	}},
	{"codex --full-auto", []string{
		"high oversight: codex --full-auto",
	}},
	{"gemini -y", []string{
		"high oversight: gemini -y",
	}},
	{"qwen --yolo", []string{
		"high oversight: qwen --yolo",
	}},
	{"aider --yes-always", []string{
		"high oversight: aider --yes-always",
	}},
	{"cursor-agent -f", []string{
		"high oversight: cursor-agent -f",
	}},
	{"cursor-agent --force", []string{
		"high oversight: cursor-agent --force",
	}},
	{"spctl --master-disable", []string{
		"high safety_off: spctl --master-disable",
	}},
	{"spctl --global-disable", []string{
		"high safety_off: spctl --global-disable",
	}},
	{"csrutil disable", []string{
		"high safety_off: csrutil disable",
	}},
	{"set-executionpolicy", []string{
		"high safety_off: set-executionpolicy",
	}},
	{"set-mppreference", []string{
		"high safety_off: set-mppreference",
	}},
	{"powershell Bypass", []string{
		"high safety_off: powershell Bypass",
	}},
	{"pwsh bypass", []string{
		"high safety_off: pwsh bypass",
	}},
	{"powershell Unrestricted", []string{
		"high safety_off: powershell Unrestricted",
	}},
	{"pwsh unrestricted", []string{
		"high safety_off: pwsh unrestricted",
	}},
	{"xattr com.apple.quarantine", []string{
		"high safety_off: xattr com.apple.quarantine",
	}},
	{"unset HISTFILE", []string{
		"medium safety_off: unset HISTFILE",
	}},
	{"sudo", []string{
		"high privileges: sudo",
	}},
	{"doas", []string{
		"high privileges: doas",
	}},
	{"su", []string{
		"high privileges: su",
	}},
	{"pkexec", []string{
		"high privileges: pkexec",
	}},
	{"run0", []string{
		"high privileges: run0",
	}},
	{"gsudo", []string{
		"high privileges: gsudo",
	}},
	{"runas", []string{
		"high privileges: runas",
	}},
	{"setcap thing", []string{
		"high privileges: setcap thing",
	}},
	{"chmod u+s", []string{
		"high privileges: chmod u+s",
	}},
	{"chmod g+s", []string{
		"high privileges: chmod g+s",
	}},
	{"chmod +s", []string{
		"high privileges: chmod +s",
	}},
	{"chmod ug+s", []string{
		"high privileges: chmod ug+s",
	}},
	{"chmod 4755", []string{
		"high privileges: chmod 4755",
	}},
	{"chmod 4777", []string{
		"high privileges: chmod 4777",
	}},
	{"chmod 2755", []string{
		"high privileges: chmod 2755",
	}},
	{"chmod 6755", []string{
		"high privileges: chmod 6755",
	}},
	{"chmod 777", []string{
		"medium privileges: chmod 777",
	}},
	{"chmod 0777", []string{
		"medium privileges: chmod 0777",
	}},
	{"chmod 666", []string{
		"medium privileges: chmod 666",
	}},
	{"chmod 0666", []string{
		"medium privileges: chmod 0666",
	}},
	{"chmod a+rwx", []string{
		"medium privileges: chmod a+rwx",
	}},
	{"chmod a+w", []string{
		"medium privileges: chmod a+w",
	}},
	{"chmod o+w", []string{
		"medium privileges: chmod o+w",
	}},
	{"chmod ugo+rwx", []string{
		"medium privileges: chmod ugo+rwx",
	}},
	{"chown -R", []string{
		"medium privileges: chown -R",
	}},
	{"chgrp --recursive", []string{
		"medium privileges: chgrp --recursive",
	}},
	{"visudo", []string{
		"high privileges: visudo",
	}},
	{"passwd", []string{
		"high privileges: passwd",
	}},
	{"chpasswd", []string{
		"high privileges: chpasswd",
	}},
	{"useradd", []string{
		"high privileges: useradd",
	}},
	{"usermod", []string{
		"high privileges: usermod",
	}},
	{"userdel", []string{
		"high privileges: userdel",
	}},
	{"adduser", []string{
		"high privileges: adduser",
	}},
	{"deluser", []string{
		"high privileges: deluser",
	}},
	{"groupadd", []string{
		"high privileges: groupadd",
	}},
	{"docker run --privileged", []string{
		"high privileges: docker run --privileged",
	}},
	{"podman exec --privileged", []string{
		"high privileges: podman exec --privileged",
	}},
	{"docker create --privileged", []string{
		"high privileges: docker create --privileged",
	}},
	{"docker run --pid=host", []string{
		"high privileges: docker run --pid=host",
	}},
	{"podman create --net=host", []string{
		"high privileges: podman create --net=host",
	}},
	{"docker run /:x", []string{
		"high privileges: docker run /:x",
	}},
	{"podman create xdocker.sock:x", []string{
		"high privileges: podman create xdocker.sock:x",
	}},
	{"mkfs thing", []string{
		"critical system: mkfs thing",
	}},
	{"fdisk thing", []string{
		"critical system: fdisk thing",
	}},
}
