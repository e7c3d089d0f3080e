package risk

// The patterns of ruleTable, with each alternative at least once.

var ruleTableCases1 = []commandCase{
	{"find -delete", []string{
		"high recursive_delete: find -delete",
	}},
	{"git clean -f", []string{
		"high recursive_delete: git clean -f",
	}},
	{"git clean --force", []string{
		"high recursive_delete: git clean --force",
	}},
	{"docker system prune", []string{
		"medium recursive_delete: docker system prune",
	}},
	{"podman image prune", []string{
		"medium recursive_delete: podman image prune",
	}},
	{"docker container prune", []string{
		"medium recursive_delete: docker container prune",
	}},
	{"podman builder prune", []string{
		"medium recursive_delete: podman builder prune",
	}},
	{"docker rmi -f", []string{
		"medium recursive_delete: docker rmi -f",
	}},
	{"podman rmi --force", []string{
		"medium recursive_delete: podman rmi --force",
	}},
	{"git push --force", []string{
		"high force_push: git push --force",
	}},
	{"git push --mirror", []string{
		"high force_push: git push --mirror",
	}},
	{"git push +x", []string{
		"high force_push: git push +x",
	}},
	{"git push --force-with-lease", []string{
		"medium force_push: git push --force-with-lease",
	}},
	{"git push -d", []string{
		"high force_push: git push -d",
	}},
	{"git push --delete", []string{
		"high force_push: git push --delete",
	}},
	{"git push --prune", []string{
		"high force_push: git push --prune",
	}},
	{"git push :x", []string{
		"high force_push: git push :x",
	}},
	{"git filter-repo", []string{
		"high rewrite_history: git filter-repo",
	}},
	{"git filter-branch", []string{
		"high rewrite_history: git filter-branch",
	}},
	{"git-filter-repo", []string{
		"high rewrite_history: git-filter-repo",
	}},
	{"bfg", []string{
		"high rewrite_history: bfg",
	}},
	{"git branch -D", []string{
		"medium rewrite_history: git branch -D",
	}},
	{"git branch -d -f", []string{
		"medium rewrite_history: git branch -d -f",
	}},
	{"git branch --delete --force", []string{
		"medium rewrite_history: git branch --delete --force",
	}},
	{"git reflog expire", []string{
		"medium rewrite_history: git reflog expire",
	}},
	{"git reflog delete", []string{
		"medium rewrite_history: git reflog delete",
	}},
	{"git update-ref -d", []string{
		"medium rewrite_history: git update-ref -d",
	}},
	{"git gc --prune=all", []string{
		"medium rewrite_history: git gc --prune=all",
	}},
	{"git reset --hard", []string{
		"high discard_changes: git reset --hard",
	}},
	{"git reset --merge", []string{
		"high discard_changes: git reset --merge",
	}},
	{"git checkout --", []string{
		"medium discard_changes: git checkout --",
	}},
	{"git checkout -f", []string{
		"medium discard_changes: git checkout -f",
	}},
	{"git switch --force", []string{
		"medium discard_changes: git switch --force",
	}},
	{"git checkout --discard-changes", []string{
		"medium discard_changes: git checkout --discard-changes",
	}},
	{"git restore", []string{
		"medium discard_changes: git restore",
	}},
	{"git restore -W", []string{
		"medium discard_changes: git restore -W",
	}},
	{"git restore --worktree", []string{
		"medium discard_changes: git restore --worktree",
	}},
	{"git worktree remove -f", []string{
		"medium discard_changes: git worktree remove -f",
	}},
	{"git worktree remove --force", []string{
		"medium discard_changes: git worktree remove --force",
	}},
	{"pnpm unpublish", []string{
		"high publish: pnpm unpublish",
	}},
	{"yarn deprecate", []string{
		"high publish: yarn deprecate",
	}},
	{"bun publish", []string{
		"high publish: bun publish",
	}},
	{"cargo yank", []string{
		"high publish: cargo yank",
	}},
	{"twine upload", []string{
		"high publish: twine upload",
	}},
	{"poetry publish", []string{
		"high publish: poetry publish",
	}},
	{"uv publish", []string{
		"high publish: uv publish",
	}},
	{"gem push", []string{
		"high publish: gem push",
	}},
	{"gem yank", []string{
		"high publish: gem yank",
	}},
	{"docker push", []string{
		"high publish: docker push",
	}},
	{"podman push", []string{
		"high publish: podman push",
	}},
	{"docker buildx build --push", []string{
		"high publish: docker buildx build --push",
	}},
	{"gh release create", []string{
		"high publish: gh release create",
	}},
	{"gh repo create", []string{
		"high publish: gh repo create",
	}},
	{"gh gist create", []string{
		"high publish: gh gist create",
	}},
	{"helm push", []string{
		"high publish: helm push",
	}},
	{"kubectl apply", []string{
		"high deploy: kubectl apply",
	}},
	{"oc create", []string{
		"high deploy: oc create",
	}},
	{"kubectl replace", []string{
		"high deploy: kubectl replace",
	}},
	{"oc patch", []string{
		"high deploy: oc patch",
	}},
	{"kubectl edit", []string{
		"high deploy: kubectl edit",
	}},
	{"oc scale", []string{
		"high deploy: oc scale",
	}},
	{"kubectl set", []string{
		"high deploy: kubectl set",
	}},
	{"oc run", []string{
		"high deploy: oc run",
	}},
	{"kubectl expose", []string{
		"high deploy: kubectl expose",
	}},
	{"oc cordon", []string{
		"high deploy: oc cordon",
	}},
	{"kubectl annotate", []string{
		"high deploy: kubectl annotate",
	}},
	{"oc label", []string{
		"high deploy: oc label",
	}},
	{"kubectl cp", []string{
		"high deploy: kubectl cp",
	}},
	{"kubectl rollout restart", []string{
		"high deploy: kubectl rollout restart",
	}},
	{"oc rollout undo", []string{
		"high deploy: oc rollout undo",
	}},
	{"kubectl rollout pause", []string{
		"high deploy: kubectl rollout pause",
	}},
	{"oc rollout resume", []string{
		"high deploy: oc rollout resume",
	}},
	{"helm install", []string{
		"high deploy: helm install",
	}},
	{"helm upgrade", []string{
		"high deploy: helm upgrade",
	}},
	{"helm uninstall", []string{
		"high deploy: helm uninstall",
	}},
	{"helm rollback", []string{
		"high deploy: helm rollback",
	}},
	{"helm delete", []string{
		"high deploy: helm delete",
	}},
	{"terraform apply", []string{
		"high deploy: terraform apply",
	}},
	{"tofu import", []string{
		"high deploy: tofu import",
	}},
	{"terragrunt taint", []string{
		"high deploy: terragrunt taint",
	}},
	{"terraform force-unlock", []string{
		"high deploy: terraform force-unlock",
	}},
	{"terraform state rm", []string{
		"high deploy: terraform state rm",
	}},
	{"tofu state mv", []string{
		"high deploy: tofu state mv",
	}},
	{"terraform state push", []string{
		"high deploy: terraform state push",
	}},
	{"tofu state replace-provider", []string{
		"high deploy: tofu state replace-provider",
	}},
	{"pulumi up", []string{
		"high deploy: pulumi up",
	}},
	{"pulumi destroy", []string{
		"high deploy: pulumi destroy",
	}},
	{"cdk deploy", []string{
		"high deploy: cdk deploy",
	}},
	{"serverless destroy", []string{
		"high deploy: serverless destroy",
	}},
	{"sls remove", []string{
		"high deploy: sls remove",
	}},
	{"netlify delete", []string{
		"high deploy: netlify delete",
	}},
	{"firebase publish", []string{
		"high deploy: firebase publish",
	}},
	{"wrangler deploy", []string{
		"high deploy: wrangler deploy",
	}},
	{"fly destroy", []string{
		"high deploy: fly destroy",
	}},
	{"flyctl remove", []string{
		"high deploy: flyctl remove",
	}},
	{"amplify delete", []string{
		"high deploy: amplify delete",
	}},
	{"eb publish", []string{
		"high deploy: eb publish",
	}},
	{"fly secrets", []string{
		"high deploy: fly secrets",
	}},
	{"flyctl scale", []string{
		"high deploy: flyctl scale",
	}},
	{"vercel deploy", []string{
		"high deploy: vercel deploy",
	}},
	{"vercel remove", []string{
		"high deploy: vercel remove",
	}},
	{"vercel rm", []string{
		"high deploy: vercel rm",
	}},
	{"vercel promote", []string{
		"high deploy: vercel promote",
	}},
	{"gcloud xdeployx", []string{
		"high deploy: gcloud xdeployx",
	}},
	{"az xdeployx", []string{
		"high deploy: az xdeployx",
	}},
	{"doctl xdeployx", []string{
		"high deploy: doctl xdeployx",
	}},
	{"heroku xdeployx", []string{
		"high deploy: heroku xdeployx",
	}},
	{"ansible-playbook", []string{
		"high deploy: ansible-playbook",
	}},
	{"kamal", []string{
		"high deploy: kamal",
	}},
	{"cap", []string{
		"high deploy: cap",
	}},
	{"kubectl delete", []string{
		"high deploy: kubectl delete",
	}},
	{"oc drain", []string{
		"high deploy: oc drain",
	}},
	{"terraform destroy", []string{
		"high deploy: terraform destroy",
	}},
	{"tofu destroy", []string{
		"high deploy: tofu destroy",
	}},
	{"terragrunt destroy", []string{
		"high deploy: terragrunt destroy",
	}},
	{"aws s3 rm", []string{
		"high deploy: aws s3 rm",
	}},
	{"aws s3api rb", []string{
		"high deploy: aws s3api rb",
	}},
	{"aws thing delete-x", []string{
		"high deploy: aws thing delete-x",
	}},
	{"aws thing terminate-x", []string{
		"high deploy: aws thing terminate-x",
	}},
	{"gcloud delete", []string{
		"high deploy: gcloud delete",
	}},
	{"az destroy", []string{
		"high deploy: az destroy",
	}},
	{"doctl apps:destroy", []string{
		"high deploy: doctl apps:destroy",
	}},
	{"heroku pg:reset", []string{
		"high deploy: heroku pg:reset",
	}},
	{"gh repo delete", []string{
		"high deploy: gh repo delete",
	}},
	{"gh release delete", []string{
		"high deploy: gh release delete",
	}},
	{"gh issue delete", []string{
		"high deploy: gh issue delete",
	}},
	{"gh run delete", []string{
		"high deploy: gh run delete",
	}},
	{"gh secret delete", []string{
		"high deploy: gh secret delete",
	}},
	{"gh variable delete", []string{
		"high deploy: gh variable delete",
	}},
	{"gsutil rm", []string{
		"high deploy: gsutil rm",
	}},
	{"gsutil rb", []string{
		"high deploy: gsutil rb",
	}},
	{"aws thing create-x", []string{
		"medium network_write: aws thing create-x",
	}},
	{"aws thing put-x", []string{
		"medium network_write: aws thing put-x",
	}},
	{"aws thing update-x", []string{
		"medium network_write: aws thing update-x",
	}},
	{"aws thing run-x", []string{
		"medium network_write: aws thing run-x",
	}},
	{"aws thing start-x", []string{
		"medium network_write: aws thing start-x",
	}},
	{"aws thing stop-x", []string{
		"medium network_write: aws thing stop-x",
	}},
	{"aws thing modify-x", []string{
		"medium network_write: aws thing modify-x",
	}},
	{"aws thing attach-x", []string{
		"medium network_write: aws thing attach-x",
	}},
	{"aws thing detach-x", []string{
		"medium network_write: aws thing detach-x",
	}},
	{"aws thing publish", []string{
		"medium network_write: aws thing publish",
	}},
	{"aws thing send-x", []string{
		"medium network_write: aws thing send-x",
	}},
	{"aws thing deploy", []string{
		"medium network_write: aws thing deploy",
	}},
	{"gcloud create", []string{
		"medium network_write: gcloud create",
	}},
	{"az update", []string{
		"medium network_write: az update",
	}},
	{"doctl set", []string{
		"medium network_write: doctl set",
	}},
	{"heroku ssh", []string{
		"medium network_write: heroku ssh",
	}},
	{"gcloud scp", []string{
		"medium network_write: gcloud scp",
	}},
	{"az config:set", []string{
		"medium network_write: az config:set",
	}},
	{"doctl add-iam-policy-binding", []string{
		"medium network_write: doctl add-iam-policy-binding",
	}},
	{"gsutil cp", []string{
		"medium network_write: gsutil cp",
	}},
	{"gsutil mv", []string{
		"medium network_write: gsutil mv",
	}},
	{"gsutil rsync", []string{
		"medium network_write: gsutil rsync",
	}},
	{"gh pr create", []string{
		"medium network_write: gh pr create",
	}},
	{"glab issue merge", []string{
		"medium network_write: glab issue merge",
	}},
	{"gh mr close", []string{
		"medium network_write: gh mr close",
	}},
	{"glab pr comment", []string{
		"medium network_write: glab pr comment",
	}},
	{"gh issue edit", []string{
		"medium network_write: gh issue edit",
	}},
	{"glab mr review", []string{
		"medium network_write: glab mr review",
	}},
	{"gh pr reopen", []string{
		"medium network_write: gh pr reopen",
	}},
	{"glab issue ready", []string{
		"medium network_write: glab issue ready",
	}},
	{"gh release edit", []string{
		"medium network_write: gh release edit",
	}},
	{"glab repo upload", []string{
		"medium network_write: glab repo upload",
	}},
	{"gh release archive", []string{
		"medium network_write: gh release archive",
	}},
	{"glab repo rename", []string{
		"medium network_write: glab repo rename",
	}},
	{"gh api POST", []string{
		"medium network_write: gh api POST",
	}},
	{"glab api PUT", []string{
		"medium network_write: glab api PUT",
	}},
}
