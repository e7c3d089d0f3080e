package main

import (
	"cmp"
	"time"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/schema"
)

// cast is everybody who works in the demo.
var cast = []part{shop, release, docs, planner, report, impatient, nightBuild}

// shop cleans up a database: failures, a subagent, an editable command at high risk.
var shop = part{app: "shop-api", model: "claude-sonnet-5", coder: "claude-code", steps: []step{
	begins("Drop the old orders table and run the migration on staging"),
	runs(call{tool: "Read", input: map[string]any{"file_path": "/home/dev/shop-api/internal/order/store.go"}, output: map[string]any{"numLines": 214}}),
	together(
		delegates("Explore", "Found 3 handlers that still read orders_old.",
			runs(call{
				tool: "Grep", input: map[string]any{"pattern": "func Handle.*Order", "path": "/home/dev/shop-api", "output_mode": "files_with_matches"},
				output: map[string]any{"filenames": []string{"internal/order/list.go", "internal/order/refund.go", "internal/order/export.go"}},
			}),
			together(
				runs(call{tool: "Read", input: map[string]any{"file_path": "/home/dev/shop-api/internal/order/list.go"}, output: map[string]any{"numLines": 88}}),
				runs(call{tool: "Read", input: map[string]any{"file_path": "/home/dev/shop-api/internal/order/refund.go"}, output: map[string]any{"numLines": 140}, takes: 2 * time.Second}),
			),
		),
		delegates("Tester", "The tests of the web shop can't run here: express is missing.",
			runs(call{
				tool: "Bash", input: map[string]any{"command": "npm test", "description": "Run test suite"}, takes: 4 * time.Second,
				fails: "Exit code 1\nError: Cannot find module 'express'",
			}),
		),
	),
	runs(bash("go test ./...", "Run tests", "ok  \tshop-api/order\t0.412s")),
	notifies("permission_prompt", "Claude needs your permission to use Bash"),
	wants(
		bash(`psql "$STAGING_URL" -c 'DROP TABLE orders_old'`, "Drop old orders table on staging", "DROP TABLE"),
		agentclient.Request{
			Question: "Drop the table orders_old on staging?", Risk: schema.HighRisk, Timeout: 90 * time.Second,
			Context: &schema.Context{
				Why: "Nothing reads it since the migration of last week; it holds 41 GB.", Cwd: "/home/dev/shop-api", Branch: "drop-orders-old",
				UserPrompt: "Drop the old orders table and run the migration on staging",
				Diff:       "--- a/migrations/0042_orders.sql\n+++ b/migrations/0042_orders.sql\n@@ -1,2 +1,1 @@\n-CREATE TABLE orders_old (LIKE orders);\n-INSERT INTO orders_old SELECT * FROM orders;\n+DROP TABLE orders_old;\n",
			},
		},
		runs(bash("git stash", "Keep the migration for later", "Saved working directory and index state")),
	),
	rests("The staging migration is done:\n\n- `orders_old` is **gone**\n- all tests of the API pass\n- the web shop's tests need `npm ci` first"),
	idles(6 * time.Second),
	prompted("Write it down in the changelog"),
	runs(call{
		tool: "Edit", input: map[string]any{"file_path": "/home/dev/shop-api/CHANGELOG.md", "old_string": "## Unreleased\n", "new_string": "## Unreleased\n\n- The table orders_old is gone.\n"},
		output: map[string]any{"filePath": "/home/dev/shop-api/CHANGELOG.md"},
	}),
	ends("It stands in the changelog."),
}}

// release deploys: two questions at the same time, one of them critical; then one for two people.
var release = part{app: "checkout-web", model: "claude-opus-5", coder: "claude-code", steps: []step{
	begins("Release 4.2 to production"),
	runs(bash("npm run build", "Build the site", "✓ 412 modules transformed")),
	together(
		delegates("Deploy", "Version 4.2 is live.", wants(
			bash("kubectl apply -f deploy/prod.yaml", "Deploy to production", "deployment.apps/checkout-web configured"),
			agentclient.Request{
				Question: "Deploy checkout-web 4.2 to production?\n\nTwo of three canaries are healthy; the third has no traffic yet.",
				Risk:     schema.CriticalRisk, Timeout: 2 * time.Minute, ToolCall: &schema.ToolCall{},
				Context: &schema.Context{Branch: "release/4.2", Links: []string{"https://ci.example.com/builds/4211"}},
				Event:   schema.Event{HumanInTheLoop: &schema.HumanInTheLoop{AgentPath: []string{"lead", "deploy"}, ReasonRequired: "deny"}},
			},
			runs(bash("git revert --no-edit HEAD", "Take the release back", "[main 7d1e9b2] Revert \"Release 4.2\"")),
		)),
		delegates("Announce", "The release notes are posted.", asks(agentclient.Request{
			Question: "Who should hear of release 4.2?", Choices: []string{"Everybody", "Only customers on the new plan", "Nobody yet"},
			Timeout: 2 * time.Minute,
		}, goesOn(runs(call{tool: "WebFetch", input: map[string]any{"url": "https://status.example.com/notes"}, output: map[string]any{"code": 200}})))),
	),
	needsTwo(
		bash("gh release create v4.2 --notes-file notes.md", "Publish the release", "https://git.example.com/checkout-web/releases/v4.2"),
		agentclient.Request{Question: "Publish release 4.2 for everybody?", Timeout: 2 * time.Minute},
		idles(time.Second),
	),
	ends("Release 4.2: see the deployments."),
}}

// docs writes: a question whose answer is a text.
var docs = part{app: "handbook", model: "claude-sonnet-5", coder: "claude-code", steps: []step{
	begins("Write the page about naming"),
	runs(call{tool: "Read", input: map[string]any{"file_path": "/home/dev/handbook/naming.md"}, output: map[string]any{"numLines": 12}}),
	asks(agentclient.Request{
		Question: "What naming convention should I use for the examples?", Kind: schema.FreeText, Timeout: 100 * time.Second,
		Context: &schema.Context{Why: "The page has examples in both styles now.", Cwd: "/home/dev/handbook"},
	}, func(d agentclient.Decision) step {
		rule := cmp.Or(d.Text, "snake_case, as most of the page does")
		return runs(call{
			tool: "Edit", input: map[string]any{"file_path": "/home/dev/handbook/naming.md", "old_string": "TODO", "new_string": rule},
			output: map[string]any{"filePath": "/home/dev/handbook/naming.md"},
		})
	}),
	ends("The naming page is written."),
}}

// planner asks several things on one card.
var planner = part{app: "orders-service", model: "gpt-5.5", coder: "codex", steps: []step{
	begins("Set up the order service"),
	idles(3 * time.Second),
	asks(agentclient.Request{
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
	}, goesOn(runs(call{
		tool: "Write", input: map[string]any{"file_path": "/home/dev/orders-service/store.go", "content": "package orders\n"},
		output: map[string]any{"type": "create"},
	}))),
	runs(bash("go vet ./...", "Check the code", "")),
	ends("The order service starts."),
}}

// report works a lot and asks little: small questions, safe to approve.
var report = part{app: "weekly-report", model: "gemini-3-pro", coder: "gemini", steps: []step{
	begins("Make this week's report"),
	runs(bash("git log --since=1.week --oneline", "What was done", "9f2c1ab Faster search\n1c0de77 Fix totals\n")),
	together( // three who ask the same: one card, and a rule can answer them next time
		delegates("Sales", "Sales are up by 4 %.", metrics),
		delegates("Traffic", "Traffic is as last week.", metrics),
		delegates("Support", "Support had 31 requests.", metrics),
	),
	runs(call{tool: "Write", input: map[string]any{"file_path": "/home/dev/weekly-report/week-47.md", "content": "# Week 47\n"}, output: map[string]any{"type": "create"}}),
	runs(bash("rm -rf build", "Clean build output", "")),
	wants(
		bash("mail -s 'Week 47' team@example.com < week-47.md", "Send the report", ""),
		agentclient.Request{Question: "Send the weekly report to team@example.com?", Risk: schema.LowRisk, Timeout: 80 * time.Second},
		idles(time.Second),
	),
	ends("The report is ready."),
}}

// metrics reads the week's figures.
var metrics = wants(
	call{tool: "WebFetch", input: map[string]any{"url": "https://metrics.example.com/week"}, output: map[string]any{"code": 200, "bytes": 18211}, takes: 2 * time.Second},
	agentclient.Request{Question: "May I read this week's figures?", Risk: schema.LowRisk, Timeout: 80 * time.Second},
	idles(time.Second),
)

// impatient waits a few seconds only: its questions time out.
var impatient = part{app: "dependency-bot", model: "claude-haiku-5", coder: "opencode", steps: []step{
	begins("Keep the dependencies fresh"),
	runs(bash("npm outdated", "What is old", "vite  8.3.7  8.3.8\n")),
	wants(
		bash("npm update vite", "Update Vite", "changed 3 packages"),
		agentclient.Request{
			Question: "Update vite to 8.3.8? (I wait ten seconds, then leave it.)", Risk: schema.MediumRisk, Timeout: 10 * time.Second,
		},
		notifies("idle_prompt", "Nobody answered: vite stays as it is"),
	),
	idles(15 * time.Second),
	ends("One update was offered."),
}}

// nightBuild is killed while it waits.
var nightBuild = part{app: "night-build", model: "claude-sonnet-5", coder: "claude-code", steps: []step{
	idles(10 * time.Second),
	dies(6 * time.Second),
	idles(time.Minute),
}}
