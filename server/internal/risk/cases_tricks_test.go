package risk

var obfuscationCases = []commandCase{
	{"perl -lane 'unlink $F[0]' a", []string{
		"high runs_code: perl -lane 'unlink $F[0]' a",
	}},
	{`python3 -uc 'import os; os.remove("a")'`, []string{
		`high runs_code: python3 -uc 'import os; os.remove("a")'`,
	}},
	{`python3 -c'import os; os.remove("a")'`, []string{
		`high runs_code: python3 -c'import os; os.remove("a")'`,
	}},
	{"sed -e'1e date' a", []string{
		"high runs_code: sed -e'1e date' a",
	}},
	{"sed -e p -ne '1e date' a", []string{
		"high runs_code: sed -e p -ne '1e date' a",
	}},
	{`awk -f p.awk -e 'BEGIN{system("date")}'`, []string{
		`high runs_code: awk -f p.awk -e 'BEGIN{system("date")}'`,
	}},
	{`sed -iep 's/x/id/e' f`, []string{
		`high runs_code: sed -iep 's/x/id/e' f`,
	}},
	{`sed -l 5 's/x/id/e' f`, []string{
		`high runs_code: sed -l 5 's/x/id/e' f`,
	}},
	{`awk --assign a=1 'BEGIN{system("rm x")}'`, []string{
		`high runs_code: awk --assign a=1 'BEGIN{system("rm x")}'`,
	}},
	{`awk -vf=1 'BEGIN{system("rm x")}'`, []string{
		`high runs_code: awk -vf=1 'BEGIN{system("rm x")}'`,
	}},
	{"echo cm0gLXJmIC8= | base64 -d | sh", []string{
		"high obfuscated: echo cm0gLXJmIC8= | base64 -d | sh",
	}},
	{"base64 -d <<< cm0gLXJmIC8= | bash", []string{
		"high obfuscated: base64 -d <<< cm0gLXJmIC8= | bash",
	}},
	{`bash -c "$(echo cm0= | base64 --decode)"`, []string{
		`high obfuscated: bash -c "$(echo cm0= | base64 --decode)"`,
	}},
	{`eval "$(echo cm0= | base64 -d)"`, []string{
		`high obfuscated: eval "$(echo cm0= | base64 -d)"`,
	}},
	{`eval "$CMD"`, []string{
		`medium obfuscated: eval "$CMD"`,
	}},
	{`bash -c "$CMD"`, []string{
		`medium obfuscated: bash -c "$CMD"`,
	}},
	{`bash -c "$(echo rm x)"`, []string{
		`medium obfuscated: bash -c "$(echo rm x)"`,
	}},
	{"$(echo rm) -rf /", []string{
		"high obfuscated: $(echo rm)",
	}},
	{"rm${IFS}-rf${IFS}/", []string{
		"high obfuscated: rm${IFS}-rf${IFS}/",
	}},
	{"{rm,-rf,/}", []string{
		"critical recursive_delete: {rm,-rf,/}",
	}},
	{"/bin/r? -rf /", []string{
		"high obfuscated: /bin/r?",
	}},
	{`$'\x72\x6d' -rf out`, []string{
		`high obfuscated: $'\x72\x6d'`,
		`medium recursive_delete: $'\x72\x6d' -rf out`,
	}},
	{`$'\162m' -rf out`, []string{
		`high obfuscated: $'\162m'`,
		`medium recursive_delete: $'\162m' -rf out`,
	}},
	{`echo $'\u0041'`, []string{
		`high obfuscated: $'\u0041'`,
	}},
	{`python3 -c 'import base64; exec(base64.b64decode("eA=="))'`, []string{
		`high obfuscated: python3 -c 'import base64; exec(base64.b64decode("eA=="))'`,
	}},
	{`node -e 'eval(atob("eA=="))'`, []string{
		`high obfuscated: node -e 'eval(atob("eA=="))'`,
	}},
	{"powershell -enc ZQBjAGgAbwA=", []string{
		"high obfuscated: powershell -enc ZQBjAGgAbwA=",
	}},
	{"rm\u200b x", []string{
		"high hidden_text: \u200b",
	}},
	{"echo \u202etxt.exe", []string{
		"high hidden_text: \u202e",
	}},
	{"echo \x1b[2Jhello", []string{
		"high hidden_text: \x1b",
	}},
	{"echo a\rrm b", []string{
		"high hidden_text: \r",
		"medium unreadable: echo a\rrm b",
	}},
	{"gсc main.c", []string{
		"high look_alike: gсc",
	}},
	{"curl https://pаypal.com", []string{
		"high look_alike: pаypal",
	}},
	{"echo hi                                                                                            ; rm -rf ~", []string{
		"critical recursive_delete: rm -rf ~",
		"high out_of_sight: ; rm -rf ~",
	}},
	{"echo hi\n\n\n\n\n\n\n\n\n\n\n\n\n\nrm -rf ~", []string{
		"critical recursive_delete: rm -rf ~",
		"high out_of_sight: rm -rf ~",
	}},
	{"echo 'never closed", []string{
		"high unreadable: 'never closed",
	}},
	{`echo "never closed`, []string{
		`high unreadable: "never closed`,
	}},
	{"echo $(never closed", []string{
		"high unreadable: $(never closed",
	}},
	{"echo `never closed", []string{
		"high unreadable: `never closed",
	}},
	{"(never closed", []string{
		"high unreadable: (never closed",
	}},
	{"echo )", []string{
		"high unreadable: )",
	}},
	{"cat <", []string{
		"high unreadable: <",
	}},
	{"flock -xn /tmp/l -c 'rm -rf x'", []string{
		"medium recursive_delete: rm -rf x",
	}},
	{"script -c'rm -rf x' out", []string{
		"medium recursive_delete: -c'rm -rf x'",
	}},
	{"npx --yes -c 'rm -rf x'", []string{
		"medium recursive_delete: rm -rf x",
	}},
	{"nix-shell --run 'rm -rf x'", []string{
		"medium recursive_delete: rm -rf x",
	}},
	{"hyperfine --setup 'rm -rf x' ls", []string{
		"medium recursive_delete: rm -rf x",
	}},
	{"sbatch --wrap='rm -rf x'", []string{
		"medium recursive_delete: --wrap='rm -rf x'",
	}},
	{"fd --exec=rm -rf {}", []string{
		"high option_executes: fd --exec=rm -rf {}",
		"high recursive_delete: fd --exec=rm -rf {}",
	}},
	{"gosu u rm -rf x", []string{
		"medium recursive_delete: rm -rf x",
	}},
	{"noglob rm -rf x", []string{
		"medium recursive_delete: rm -rf x",
	}},
	{"infisical run -- rm -rf x", []string{
		"medium recursive_delete: rm -rf x",
	}},
	{"lerna exec -- rm -rf dist", []string{
		"medium recursive_delete: rm -rf dist",
	}},
	{"hyperfine 'npm test'", nil},
	{"flock /tmp/l make", nil},
}
