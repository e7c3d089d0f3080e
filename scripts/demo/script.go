package main

import (
	"cmp"
	"time"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/schema"
)

// script lists the agents of the demo.
var script = []role{shop, release, docs, planner, report, impatient, nightBuild}

// shop cleans up a database: a failed call, subagents, an editable high-risk command.
var shop = role{app: "shop-api", model: "claude-sonnet-5", codingAgent: "claude-code", steps: []step{
	promptStep("Drop the old orders table and run the migration on staging"),
	callStep(call{tool: "Read", input: map[string]any{"file_path": "/home/dev/shop-api/internal/order/store.go"}, output: map[string]any{"numLines": 214}}),
	parallelStep(
		subagentStep("Explore", "Found 3 handlers that still read orders_old.",
			callStep(call{
				tool: "Grep", input: map[string]any{"pattern": "func Handle.*Order", "path": "/home/dev/shop-api", "output_mode": "files_with_matches"},
				output: map[string]any{"filenames": []string{"internal/order/list.go", "internal/order/refund.go", "internal/order/export.go"}},
			}),
			parallelStep(
				callStep(call{tool: "Read", input: map[string]any{"file_path": "/home/dev/shop-api/internal/order/list.go"}, output: map[string]any{"numLines": 88}}),
				callStep(call{tool: "Read", input: map[string]any{"file_path": "/home/dev/shop-api/internal/order/refund.go"}, output: map[string]any{"numLines": 140}, duration: 2 * time.Second}),
			),
		),
		subagentStep("Tester", "The tests of the web shop can't run here: express is missing.",
			callStep(call{
				tool: "Bash", input: map[string]any{"command": "npm test", "description": "Run test suite"}, duration: 4 * time.Second,
				failure: "Exit code 1\nError: Cannot find module 'express'",
			}),
		),
	),
	callStep(bash("go test ./...", "Run tests", "ok  \tshop-api/order\t0.412s")),
	notificationStep("permission_prompt", "Claude needs your permission to use Bash"),
	guardedCallStep(
		bash(`psql "$STAGING_URL" -c 'DROP TABLE orders_old'`, "Drop old orders table on staging", "DROP TABLE"),
		agentclient.Request{
			Question: "Drop the table orders_old on staging?", Risk: schema.HighRisk, Timeout: 90 * time.Second,
			Context: &schema.Context{
				Why: "Nothing reads it since the migration of last week; it holds 41 GB.", Cwd: "/home/dev/shop-api", Branch: "drop-orders-old",
				UserPrompt: "Drop the old orders table and run the migration on staging",
				Diff:       "--- a/migrations/0042_orders.sql\n+++ b/migrations/0042_orders.sql\n@@ -1,2 +1,1 @@\n-CREATE TABLE orders_old (LIKE orders);\n-INSERT INTO orders_old SELECT * FROM orders;\n+DROP TABLE orders_old;\n",
			},
		},
		callStep(bash("git stash", "Keep the migration for later", "Saved working directory and index state")),
	),
	turnEndStep("The staging migration is done:\n\n- `orders_old` is **gone**\n- all tests of the API pass\n- the web shop's tests need `npm ci` first"),
	idleStep(6 * time.Second),
	followUpStep("Write it down in the changelog"),
	callStep(call{
		tool: "Edit", input: map[string]any{"file_path": "/home/dev/shop-api/CHANGELOG.md", "old_string": "## Unreleased\n", "new_string": "## Unreleased\n\n- The table orders_old is gone.\n"},
		output: map[string]any{"filePath": "/home/dev/shop-api/CHANGELOG.md"},
	}),
	sessionEndStep("The changelog has a new entry."),
}}

// release deploys: two concurrent questions, one critical, then one with a quorum of two.
var release = role{app: "checkout-web", model: "claude-opus-5", codingAgent: "claude-code", steps: []step{
	promptStep("Release 4.2 to production"),
	callStep(bash("npm run build", "Build the site", "✓ 412 modules transformed")),
	parallelStep(
		subagentStep("Deploy", "Version 4.2 is live.", guardedCallStep(
			bash("kubectl apply -f deploy/prod.yaml", "Deploy to production", "deployment.apps/checkout-web configured"),
			agentclient.Request{
				Question: "Deploy checkout-web 4.2 to production?\n\nTwo of three canaries are healthy; the third has no traffic yet.",
				Risk:     schema.CriticalRisk, Timeout: 2 * time.Minute, ToolCall: &schema.ToolCall{},
				Context: &schema.Context{Branch: "release/4.2", Links: []string{"https://ci.example.com/builds/4211"}},
				Event:   schema.Event{HumanInTheLoop: &schema.HumanInTheLoop{AgentPath: []string{"lead", "deploy"}, ReasonRequired: "deny"}},
			},
			callStep(bash("git revert --no-edit HEAD", "Take the release back", "[main 7d1e9b2] Revert \"Release 4.2\"")),
		)),
		subagentStep("Announce", "The release notes are posted.", questionStep(agentclient.Request{
			Question: "Who should be notified of release 4.2?", Choices: []string{"Everyone", "Only customers on the new plan", "No one yet"},
			Timeout: 2 * time.Minute,
		}, always(callStep(call{tool: "WebFetch", input: map[string]any{"url": "https://status.example.com/notes"}, output: map[string]any{"code": 200}})))),
	),
	quorumCallStep(
		bash("gh release create v4.2 --notes-file notes.md", "Publish the release", "https://git.example.com/checkout-web/releases/v4.2"),
		agentclient.Request{Question: "Publish release 4.2?", Timeout: 2 * time.Minute},
		idleStep(time.Second),
	),
	sessionEndStep("Release 4.2: see the deployments."),
}}

// docs asks a free-text question.
var docs = role{app: "handbook", model: "claude-sonnet-5", codingAgent: "claude-code", steps: []step{
	promptStep("Write the page about naming"),
	callStep(call{tool: "Read", input: map[string]any{"file_path": "/home/dev/handbook/naming.md"}, output: map[string]any{"numLines": 12}}),
	questionStep(agentclient.Request{
		Question: "What naming convention should I use for the examples?", Kind: schema.FreeText, Timeout: 100 * time.Second,
		Context: &schema.Context{Why: "The page has examples in both styles now.", Cwd: "/home/dev/handbook"},
	}, func(d agentclient.Decision) step {
		rule := cmp.Or(d.Text, "snake_case, as most of the page does")
		return callStep(call{
			tool: "Edit", input: map[string]any{"file_path": "/home/dev/handbook/naming.md", "old_string": "TODO", "new_string": rule},
			output: map[string]any{"filePath": "/home/dev/handbook/naming.md"},
		})
	}),
	sessionEndStep("The naming page is written."),
}}

// planner asks a form with several questions.
var planner = role{app: "orders-service", model: "gpt-5.5", codingAgent: "codex", steps: []step{
	promptStep("Set up the order service"),
	idleStep(3 * time.Second),
	questionStep(agentclient.Request{
		Question: "A few things before I start", Timeout: 2 * time.Minute,
		Questions: []schema.FormQuestion{
			{ID: "database", Header: "Database", Question: "Which database should the order service use?", AllowOther: true, Options: []schema.Option{
				{Label: "SQLite", Description: "One file, no server"},
				{Label: "Postgres", Description: "Separate server, more writers"},
			}},
			{ID: "extras", Header: "Extras", Question: "Which extras should I add?", Multiple: true, Options: []schema.Option{
				{Label: "Migrations", Description: "Versioned schema"}, {Label: "Seed data", Description: "Example rows"},
			}},
			{ID: "notes", Question: "Anything else to keep in mind?"},
		},
	}, always(callStep(call{
		tool: "Write", input: map[string]any{"file_path": "/home/dev/orders-service/store.go", "content": "package orders\n"},
		output: map[string]any{"type": "create"},
	}))),
	callStep(bash("go vet ./...", "Check the code", "")),
	sessionEndStep("The order service starts."),
}}

// report asks several low-risk questions.
var report = role{app: "weekly-report", model: "gemini-3-pro", codingAgent: "gemini", steps: []step{
	promptStep("Make this week's report"),
	callStep(bash("git log --since=1.week --oneline", "What was done", "9f2c1ab Faster search\n1c0de77 Fix totals\n")),
	parallelStep( // three duplicates: one request, which a rule can answer next time
		subagentStep("Sales", "Sales are up by 4 %.", metrics),
		subagentStep("Traffic", "Traffic is as last week.", metrics),
		subagentStep("Support", "Support had 31 requests.", metrics),
	),
	callStep(call{tool: "Write", input: map[string]any{"file_path": "/home/dev/weekly-report/week-47.md", "content": "# Week 47\n"}, output: map[string]any{"type": "create"}}),
	callStep(bash("rm -rf build", "Clean build output", "")),
	guardedCallStep(
		bash("mail -s 'Week 47' team@example.com < week-47.md", "Send the report", ""),
		agentclient.Request{Question: "Send the weekly report to team@example.com?", Risk: schema.LowRisk, Timeout: 80 * time.Second},
		idleStep(time.Second),
	),
	sessionEndStep("The report is ready."),
}}

// metrics reads the figures of the week.
var metrics = guardedCallStep(
	call{tool: "WebFetch", input: map[string]any{"url": "https://metrics.example.com/week"}, output: map[string]any{"code": 200, "bytes": 18211}, duration: 2 * time.Second},
	agentclient.Request{Question: "May I read this week's figures?", Risk: schema.LowRisk, Timeout: 80 * time.Second},
	idleStep(time.Second),
)

// impatient waits only a few seconds, so its questions time out.
var impatient = role{app: "dependency-bot", model: "claude-haiku-5", codingAgent: "opencode", steps: []step{
	promptStep("Keep the dependencies fresh"),
	callStep(bash("npm outdated", "What is old", "vite  8.3.7  8.3.8\n")),
	guardedCallStep(
		bash("npm update vite", "Update Vite", "changed 3 packages"),
		agentclient.Request{
			Question: "Update vite to 8.3.8? (I wait ten seconds, then skip it.)", Risk: schema.MediumRisk, Timeout: 10 * time.Second,
		},
		notificationStep("idle_prompt", "No answer: vite was not updated"),
	),
	idleStep(15 * time.Second),
	sessionEndStep("One update was offered."),
}}

// nightBuild is killed while it waits for an answer.
var nightBuild = role{app: "night-build", model: "claude-sonnet-5", codingAgent: "claude-code", steps: []step{
	idleStep(10 * time.Second),
	crashStep(6 * time.Second),
	idleStep(time.Minute),
}}
