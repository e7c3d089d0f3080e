package risk

var deletionCases = []commandCase{
	{"rm --recurs build", []string{
		"medium recursive_delete: rm --recurs build",
	}},
	{"rm -rfrfrfrfrf build", []string{
		"medium recursive_delete: rm -rfrfrfrfrf build",
	}},
	{"git clean -fd -exn", []string{
		"high recursive_delete: git clean -fd -exn",
	}},
	{"git clean -fd -e -n", []string{
		"high recursive_delete: git clean -fd -e -n",
	}},
	{"git clean -fd -- -n .", []string{
		"high recursive_delete: git clean -fd -- -n .",
	}},
	{"git clean -n -fd", nil},
	{"git clean -fdxn", nil},
	{"sed -i s/a/b/ -E ~/.bashrc", []string{
		"high autostart: sed -i s/a/b/ -E ~/.bashrc",
	}},
	{"sed -Ei s/a/b/ ~/.bashrc", []string{
		"high autostart: sed -Ei s/a/b/ ~/.bashrc",
	}},
	{"sed -ni.bak 1p ../a", []string{
		"medium outside_cwd: sed -ni.bak 1p ../a",
	}},
	{"ruby -pi -e '$_.upcase!' ../a", []string{
		"medium outside_cwd: ruby -pi -e '$_.upcase!' ../a",
	}},
	{"yq -i .a=1 ../a.yaml", []string{
		"medium outside_cwd: yq -i .a=1 ../a.yaml",
	}},
	{"rm -rf build", []string{
		"medium recursive_delete: rm -rf build",
	}},
	{"rm -r -f /", []string{
		"critical recursive_delete: rm -r -f /",
	}},
	{"rm -fr ~", []string{
		"critical recursive_delete: rm -fr ~",
	}},
	{"rm --recursive --force ~/projects", []string{
		"high recursive_delete: rm --recursive --force ~/projects",
	}},
	{"rm -Rf ./*", []string{
		"high recursive_delete: rm -Rf ./*",
	}},
	{"rm -rf .", []string{
		"high recursive_delete: rm -rf .",
	}},
	{"rm -rf ..", []string{
		"critical recursive_delete: rm -rf ..",
	}},
	{"rm -rf ../other", []string{
		"high recursive_delete: rm -rf ../other",
	}},
	{"rm -rf /home/dev", []string{
		"critical recursive_delete: rm -rf /home/dev",
	}},
	{"rm -rf /home/dev/shop-api", []string{
		"high recursive_delete: rm -rf /home/dev/shop-api",
	}},
	{"rm -rf /home/dev/shop-api/dist", []string{
		"medium recursive_delete: rm -rf /home/dev/shop-api/dist",
	}},
	{"rm -rf /*", []string{
		"critical recursive_delete: rm -rf /*",
	}},
	{"rm -rf $HOME", []string{
		"critical recursive_delete: rm -rf $HOME",
	}},
	{`rm -rf "$HOME/"`, []string{
		`critical recursive_delete: rm -rf "$HOME/"`,
	}},
	{`rm -rf "$HOME/.cache"`, []string{
		`high recursive_delete: rm -rf "$HOME/.cache"`,
	}},
	{"rm -rf $X/", []string{
		"critical recursive_delete: rm -rf $X/",
	}},
	{`rm -rf "${PREFIX}/*"`, []string{
		`critical recursive_delete: rm -rf "${PREFIX}/*"`,
	}},
	{`rm -rf "$BUILD_DIR"`, []string{
		`high recursive_delete: rm -rf "$BUILD_DIR"`,
	}},
	{`rm -rf "$BUILD_DIR/out"`, []string{
		`high recursive_delete: rm -rf "$BUILD_DIR/out"`,
	}},
	{`rm -rf "${BUILD_DIR:?}/out"`, []string{
		`medium recursive_delete: rm -rf "${BUILD_DIR:?}/out"`,
	}},
	{`BUILD=out; rm -rf "$BUILD"`, []string{
		`medium recursive_delete: rm -rf "$BUILD"`,
	}},
	{`TMP=$(mktemp -d) && rm -rf "$TMP"`, []string{
		`medium recursive_delete: rm -rf "$TMP"`,
	}},
	{"rm -rf /tmp/cache", []string{
		"medium recursive_delete: rm -rf /tmp/cache",
	}},
	{"rm -rf /etc/nginx/sites-enabled", []string{
		"high recursive_delete: rm -rf /etc/nginx/sites-enabled",
	}},
	{"rm -rf /usr", []string{
		"critical recursive_delete: rm -rf /usr",
	}},
	{"rm -rf /var/lib/postgresql", []string{
		"high recursive_delete: rm -rf /var/lib/postgresql",
	}},
	{"rm -rf .git", []string{
		"high recursive_delete: rm -rf .git",
	}},
	{"rm -rf --no-preserve-root /", []string{
		"critical recursive_delete: rm -rf --no-preserve-root /",
	}},
	{"/bin/rm -rf dist", []string{
		"medium recursive_delete: /bin/rm -rf dist",
	}},
	{`\rm -rf dist`, []string{
		`medium recursive_delete: \rm -rf dist`,
	}},
	{"r''m -rf dist", []string{
		"medium recursive_delete: r''m -rf dist",
	}},
	{"rm -rf dist build node_modules", []string{
		"medium recursive_delete: rm -rf dist build node_modules",
	}},
	{"rm -rf -- -weird", []string{
		"medium recursive_delete: rm -rf -- -weird",
	}},
	{"cd /tmp && rm -rf ./*", []string{
		"medium recursive_delete: rm -rf ./*",
	}},
	{"cd .. && rm -rf *", []string{
		"critical recursive_delete: rm -rf *",
	}},
	{`for d in a b; do rm -rf "$d"; done`, []string{
		`medium recursive_delete: rm -rf "$d"`,
	}},
	{"[ -d dist ] && rm -rf dist", []string{
		"medium recursive_delete: rm -rf dist",
	}},
	{"if [ -d x ]; then rm -rf x; fi", []string{
		"medium recursive_delete: rm -rf x",
	}},
	{`while read -r f; do rm -rf "$f"; done < list.txt`, []string{
		`high recursive_delete: rm -rf "$f"`,
	}},
	{"case $1 in clean) rm -rf out;; *) ls;; esac", []string{
		"medium recursive_delete: rm -rf out",
	}},
	{"(rm -rf out)", []string{
		"medium recursive_delete: rm -rf out",
	}},
	{"{ rm -rf out; }", []string{
		"medium recursive_delete: rm -rf out",
	}},
	{"f() { rm -rf out; }; f", []string{
		"medium recursive_delete: rm -rf out",
	}},
	{"time rm -rf out", []string{
		"medium recursive_delete: rm -rf out",
	}},
	{"! rm -rf out", []string{
		"medium recursive_delete: rm -rf out",
	}},
	{"sh -c 'rm -rf /x'", []string{
		"high recursive_delete: rm -rf /x",
	}},
	{`bash -lc "cd /tmp && rm -rf ./*"`, []string{
		"medium recursive_delete: rm -rf ./*",
	}},
	{`bash -c "rm -rf \"$HOME\""`, []string{
		`critical recursive_delete: "rm -rf \"$HOME\""`,
	}},
	{`sh -c "sh -c 'rm -rf out'"`, []string{
		"medium recursive_delete: rm -rf out",
	}},
	{"env FOO=1 rm -rf out", []string{
		"high sets_variable: env FOO=1 rm -rf out",
		"medium recursive_delete: rm -rf out",
	}},
	{"FOO=1 rm -rf out", []string{
		"high sets_variable: FOO=1 rm -rf out",
		"medium recursive_delete: rm -rf out",
	}},
	{"nice -n 10 rm -rf out", []string{
		"medium recursive_delete: rm -rf out",
	}},
	{"timeout 5 rm -rf out", []string{
		"medium recursive_delete: rm -rf out",
	}},
	{"xargs rm -rf < list", []string{
		"high recursive_delete: xargs rm -rf",
	}},
	{"find . -name node_modules -prune | xargs rm -rf", []string{
		"high recursive_delete: xargs rm -rf",
	}},
	{"find . -name '*.log' -delete", []string{
		"high recursive_delete: find . -name '*.log' -delete",
	}},
	{`find . -name '*.o' -exec rm {} \;`, []string{
		`high recursive_delete: find . -name '*.o' -exec rm {} \;`,
	}},
	{"find / -name core -exec rm -f {} +", []string{
		"high recursive_delete: find / -name core -exec rm -f {} +",
	}},
	{"fd -e tmp -x rm", []string{
		"high recursive_delete: fd -e tmp -x rm",
	}},
	{"npx rimraf dist", []string{
		"medium install: npx rimraf dist",
		"medium recursive_delete: rimraf dist",
	}},
	{"ssh prod 'rm -rf /var/www/old'", []string{
		"high recursive_delete: rm -rf /var/www/old",
	}},
	{"docker exec web rm -rf /app/cache", []string{
		"medium recursive_delete: rm -rf /app/cache",
	}},
	{"trap 'rm -rf out' EXIT", []string{
		"medium recursive_delete: rm -rf out",
	}},
	{"eval rm -rf out", []string{
		"medium recursive_delete: rm -rf out",
	}},
	{`echo "$(rm -rf out)"`, []string{
		"medium recursive_delete: rm -rf out",
	}},
	{"echo `rm -rf out`", []string{
		"medium recursive_delete: rm -rf out",
	}},
	{"cat > a.txt <<EOF\n$(rm -rf out)\nEOF", []string{
		"medium recursive_delete: rm -rf out",
	}},
	{"bash <<'EOF'\nrm -rf out\nEOF", []string{
		"high pipe_to_shell: bash",
		"medium recursive_delete: rm -rf out",
	}},
	{"bash <<< 'rm -rf out'", []string{
		"high pipe_to_shell: bash",
		"medium recursive_delete: rm -rf out",
	}},
	{"echo 'rm -rf out' | sh", []string{
		"high pipe_to_shell: echo 'rm -rf out' | sh",
		"medium recursive_delete: rm -rf out",
	}},
	{"git clean -fdx", []string{
		"high recursive_delete: git clean -fdx",
	}},
	{"git clean -xdf build", []string{
		"high recursive_delete: git clean -xdf build",
	}},
	{`python3 -c 'import shutil; shutil.rmtree("x")'`, []string{
		`high recursive_delete: python3 -c 'import shutil; shutil.rmtree("x")'`,
	}},
	{"python3 - <<'EOF'\nimport shutil\nshutil.rmtree('x')\nEOF", []string{
		"high recursive_delete: python3 -",
	}},
	{`node -e "require('fs').rmSync('x', {recursive: true})"`, []string{
		`high recursive_delete: node -e "require('fs').rmSync('x', {recursive: true})"`,
	}},
	{`perl -e 'system("rm -rf x")'`, []string{
		`high recursive_delete: perl -e 'system("rm -rf x")'`,
	}},
	{"docker system prune -af", []string{
		"medium recursive_delete: docker system prune -af",
	}},
	{"rm -rf a & rm -rf b", []string{
		"medium recursive_delete: rm -rf a",
		"medium recursive_delete: rm -rf b",
		"low background: rm -rf a",
	}},
	{"echo done; rm -rf out # bye", []string{
		"medium recursive_delete: rm -rf out",
	}},
	{"rm -rf out || true", []string{
		"medium recursive_delete: rm -rf out",
	}},
	{"rm \\\n  -rf \\\n  out", []string{
		"medium recursive_delete: rm \\\n  -rf \\\n  out",
	}},
	{"ls | xargs -n 1 rm", []string{
		"high recursive_delete: xargs -n 1 rm",
	}},
	{"rmdir /s /q out", []string{
		"medium recursive_delete: rmdir /s /q out",
	}},
	{"shred -u secret.txt", []string{
		"medium overwrite: shred -u secret.txt",
	}},
	{"truncate -s 0 app.log", []string{
		"medium overwrite: truncate -s 0 app.log",
	}},
	{"mv -f a.txt b.txt", []string{
		"medium overwrite: mv -f a.txt b.txt",
	}},
	{"rsync -a --delete empty/ x/", []string{
		"medium recursive_delete: rsync -a --delete empty/ x/",
	}},
	{"rsync -an --delete empty/ x/", nil},
	{"rsync -a src/ build/", nil},
	{"rsync -a --delay-updates src/ build/", nil},
}
