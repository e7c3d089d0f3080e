package risk

var historyCases = []commandCase{
	{"git push -foci.skip origin main", []string{
		"high force_push: git push -foci.skip origin main",
	}},
	{"git push -f -n --no-dry origin main", []string{
		"high force_push: git push -f -n --no-dry origin main", "low publish: git push -f -n --no-dry origin main",
	}},
	{"git push -f -o -n origin main", []string{
		"high force_push: git push -f -o -n origin main",
	}},
	{"git push --force --dry-run", nil},
	{"git push -fn", nil},
	{"git push --force --dry-run --no-dry-run", []string{
		"high force_push: git push --force --dry-run --no-dry-run",
		"medium force_push: git push --force --dry-run --no-dry-run",
		"low publish: git push --force --dry-run --no-dry-run",
	}},
	{"git reset --har", []string{
		"high discard_changes: git reset --har",
	}},
	{"git restore -sS .", []string{
		"medium discard_changes: git restore -sS .",
	}},
	{"git push -f", []string{
		"high force_push: git push -f",
	}},
	{"git push --force origin main", []string{
		"high force_push: git push --force origin main",
	}},
	{"git push origin +main", []string{
		"high force_push: git push origin +main",
	}},
	{"git push -u --force-with-lease origin feature", []string{
		"medium force_push: git push -u --force-with-lease origin feature",
	}},
	{"git push origin --delete feature", []string{
		"high force_push: git push origin --delete feature",
	}},
	{"git push origin :feature", []string{
		"high force_push: git push origin :feature",
	}},
	{"git push --mirror backup", []string{
		"high force_push: git push --mirror backup",
	}},
	{"git push", []string{
		"low publish: git push",
	}},
	{"git push -u origin feature", []string{
		"low publish: git push -u origin feature",
	}},
	{"git -C ../web push origin main", []string{
		"low publish: git -C ../web push origin main",
	}},
	{"git reset --hard HEAD~3", []string{
		"high discard_changes: git reset --hard HEAD~3",
	}},
	{"git reset --hard && git clean -fd", []string{
		"high discard_changes: git reset --hard",
		"high recursive_delete: git clean -fd",
	}},
	{"git checkout -- src/a.go", []string{
		"medium discard_changes: git checkout -- src/a.go",
	}},
	{"git checkout .", []string{
		"medium discard_changes: git checkout .",
	}},
	{"git checkout -f main", []string{
		"medium discard_changes: git checkout -f main",
	}},
	{"git restore src/a.go", []string{
		"medium discard_changes: git restore src/a.go",
	}},
	{"git stash drop", []string{
		"medium discard_changes: git stash drop",
	}},
	{"git stash clear", []string{
		"medium discard_changes: git stash clear",
	}},
	{"git branch -D old", []string{
		"medium rewrite_history: git branch -D old",
	}},
	{"git branch -d -f old", []string{
		"medium rewrite_history: git branch -d -f old",
	}},
	{"git filter-branch --tree-filter 'rm -f x' HEAD", []string{
		"high option_executes: git filter-branch --tree-filter 'rm -f x' HEAD",
		"high rewrite_history: git filter-branch --tree-filter 'rm -f x' HEAD",
	}},
	{"git filter-repo --path x", []string{
		"high rewrite_history: git filter-repo --path x",
	}},
	{"git reflog expire --expire=now --all", []string{
		"medium rewrite_history: git reflog expire --expire=now --all",
	}},
	{"git gc --prune=now", []string{
		"medium rewrite_history: git gc --prune=now",
	}},
	{"git update-ref -d refs/heads/x", []string{
		"medium rewrite_history: git update-ref -d refs/heads/x",
	}},
	{"git worktree remove --force ../wt", []string{
		"medium discard_changes: git worktree remove --force ../wt",
	}},
	{"git commit --no-verify -m wip", []string{
		"medium safety_off: git commit --no-verify -m wip",
	}},
	{"git commit -nm wip", []string{
		"medium safety_off: git commit -nm wip",
	}},
	{"git push --no-verify", []string{
		"medium safety_off: git push --no-verify",
		"low publish: git push --no-verify",
	}},
	{"git -c core.hooksPath=/dev/null commit -m x", []string{
		"high option_executes: git -c core.hooksPath=/dev/null commit -m x",
		"medium safety_off: git -c core.hooksPath=/dev/null commit -m x",
	}},
	{"git config core.hooksPath /dev/null", []string{
		"high runs_later: git config core.hooksPath /dev/null",
		"medium safety_off: git config core.hooksPath /dev/null",
	}},
	{"git -c http.sslVerify=false fetch", []string{
		"medium safety_off: git -c http.sslVerify=false fetch",
	}},
	{"git add .env", []string{
		"medium reads_secret: git add .env",
	}},
}
