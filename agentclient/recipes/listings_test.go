package recipes_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/inbox"
	"github.com/hookback/hookback/server/hubtest"
)

// fence is a listing of a Markdown file.
var fence = regexp.MustCompile("(?ms)^```[a-z]*\n(.*?)^```")

// listing returns the listing that contains mark, of the seed whose file name begins with the number.
func listing(t *testing.T, seed, mark string) string {
	t.Helper()
	folder := os.Getenv("HOOKBACK_SEEDS")
	if folder == "" {
		t.Skip("HOOKBACK_SEEDS names no folder: run with make e2e-reference")
	}
	files, err := filepath.Glob(filepath.Join(folder, seed+"_*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	text, err := os.ReadFile(files[0])
	require.NoError(t, err)
	for _, block := range fence.FindAllStringSubmatch(string(text), -1) {
		if strings.Contains(block[1], mark) {
			return block[1]
		}
	}
	require.FailNow(t, "no listing", "of seed %s has %s", seed, mark)
	return ""
}

// runListing runs a program in a temporary folder and returns what it prints.
func runListing(t *testing.T, hub *hubtest.Hub, file, program string, command ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(program), 0o600))
	cmd := exec.CommandContext(ctx, command[0], append(command[1:], file)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HUB="+hub.URL())
	var errors strings.Builder
	cmd.Stderr = &errors
	out, err := cmd.Output()
	require.NoError(t, err, "%s%s", errors.String(), out)
	return strings.TrimSpace(string(out))
}

// runTypeScript runs a listing in TypeScript between two parts in JavaScript.
func runTypeScript(t *testing.T, hub *hubtest.Hub, before, code, after string) string {
	t.Helper()
	compiler, err := filepath.Abs("../../dashboard/node_modules/typescript")
	require.NoError(t, err)
	const transpile = `
		const ts = require(process.argv[1]), fs = require('fs')
		const options = { compilerOptions: { module: 'esnext', target: 'es2022' } }
		fs.writeFileSync('out.mjs', ts.transpileModule(fs.readFileSync(process.argv[2], 'utf8'), options).outputText)
		import(process.cwd() + '/out.mjs')`
	return runListing(t, hub, "listing.ts", before+"\n"+code+"\n"+after, "node", "-e", transpile, compiler)
}

// pendingCall is a call that waits for a person.
type pendingCall struct {
	id       schema.EventID
	decision <-chan agentclient.Decision
}

var refund = schema.ToolCall{Name: "process_refund", Arguments: json.RawMessage(`{"orderId":"1234","amount":50000}`), Editable: true}

// ask asks about the refund and returns when the hub has the question.
func ask(t *testing.T, hub *hubtest.Hub) pendingCall {
	t.Helper()
	client := agentclient.New(hub.Options())
	t.Cleanup(func() { _ = client.Close() })
	stored, decided := make(chan schema.EventID, 1), make(chan agentclient.Decision, 1)
	go func() {
		d, err := client.Ask(t.Context(), agentclient.Request{
			Question: "Refund order 1234?", ToolCall: &refund, OnWaiting: func(w agentclient.WaitStatus) { stored <- w.EventID },
		})
		if err != nil {
			t.Error(err)
		}
		decided <- d
	}()
	return pendingCall{<-stored, decided}
}

// Seed 000: the store of the modal posts the decision. Adapted: create of zustand is written out, and
// the relative address gets the hub's.
func TestListing_ApprovalStore(t *testing.T) {
	t.Parallel()
	code := listing(t, "000", "useApprovalStore = create")
	hub := hubtest.Start(t)
	for _, test := range []struct {
		arguments, outcome, reason string
	}{{"false, 'User cancelled'", "deny", "User cancelled"}, {"true", "approve", ""}} {
		asked := ask(t, hub)
		out := runTypeScript(t, hub, `
			const create = (init) => { let state; state = init((part) => (state = { ...state, ...part })); return { getState: () => state } }
			const send = globalThis.fetch
			globalThis.fetch = (path, options) => send(process.env.HUB + path, options)`, code, `
			useApprovalStore.getState().setPendingApproval({ approvalId: '`+asked.id.String()+`' })
			await useApprovalStore.getState().submitApproval('`+asked.id.String()+`', `+test.arguments+`)
			console.log(useApprovalStore.getState().pendingApproval)`)
		require.Equal(t, "null", out)
		d := <-asked.decision
		require.Equal(t, schema.Outcome(test.outcome), d.Outcome)
		require.Equal(t, test.reason, d.Reason)
	}
}

// Seed 000: the orchestrator and its queue in memory. Adapted: the agent is a stub with one call, the two ids
// of an approval are one (the listing makes two), and in place of its modal the hub asks the person.
func TestListing_Orchestrator(t *testing.T) {
	t.Parallel()
	code := listing(t, "000", "class ApprovalQueue {") + listing(t, "000", "streamAgentWithApproval(")
	hub := hubtest.Start(t)
	answered := make(chan error, 1)
	go func() {
		answered <- hub.Answer(t.Context(), schema.Response{Permission: new(false), Reason: "not today"}, schema.Response{Permission: new(true)})
	}()
	out := runTypeScript(t, hub, `
		const nanoid = () => 'a1', TOOL_METADATA = { cms_publishPost: { requiresApproval: true } }
		const createAgent = () => ({
			async *stream() { yield { type: 'tool-call', toolName: 'cms_publishPost', input: { slug: 'launch' } } },
		})`+askHub, code, `
		for (let run = 0; run < 2; run++)
			for await (const event of streamAgentWithApproval([], {})) {
				if (event.type === 'approval-required')
					askHub(event.message, event.toolName, event.input)
						.then(({ permission, reason }) => approvalQueue.respondToApproval(event.approvalId, permission, reason))
				console.log(JSON.stringify(event))
			}
		process.exit() // before the queue's timers`)
	require.NoError(t, <-answered)
	required := `{"type":"approval-required","approvalId":"a1","toolName":"cms_publishPost","input":{"slug":"launch"},` +
		`"message":"Publish post \"launch\" to make it publicly visible?"}`
	require.Equal(t, []string{
		required, `{"type":"tool-result","toolName":"cms_publishPost","result":{"success":false,"cancelled":true,"reason":"not today"}}`,
		required, `{"type":"tool-call","toolName":"cms_publishPost","input":{"slug":"launch"}}`,
	}, strings.Split(out, "\n"))
}

// askHub is a function in JavaScript that asks about a call.
const askHub = `
	const askHub = async (question, name, args) => {
		const body = JSON.stringify({ question, toolCall: { name, arguments: args } })
		const response = await fetch(process.env.HUB + '/ask', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body })
		return response.json()
	}
`

// Seed 000: the tool with a confirmation flag, with the real libraries ai and zod. Adapted: the pages are an
// object, and the program, not a model, makes the second call, once the person has agreed in the hub.
func TestListing_ConfirmationFlag(t *testing.T) {
	t.Parallel()
	code := listing(t, "000", "export const cms_deletePage")
	packages, err := filepath.Abs("node_modules")
	require.NoError(t, err)
	hub := hubtest.Start(t)
	answered := make(chan error, 1)
	go func() {
		answered <- hub.Answer(t.Context(), schema.Response{Permission: new(false)}, schema.Response{Permission: new(true)})
	}()
	out := runTypeScript(t, hub, `
		import { tool } from '`+packages+`/ai/dist/index.mjs'
		import { z } from '`+packages+`/zod/index.js'`+askHub, code, `
		const pages = { 'page-123': { title: 'About Us', sections: [1, 2, 3] } }
		const pageService = { getPage: async (id) => pages[id], deletePage: async (id) => delete pages[id] }
		const call = (input) => cms_deletePage.execute(cms_deletePage.inputSchema.parse(input), { experimental_context: { services: { pageService } } })
		for (let run = 0; run < 2; run++) {
			const first = await call({ pageId: 'page-123' })
			const { permission } = await askHub(first.message, 'cms_deletePage', { pageId: first.pageId })
			const second = permission ? await call({ pageId: first.pageId, confirmed: true }) : 'not called'
			console.log(first.requiresConfirmation, first.sectionCount, JSON.stringify(second), Object.keys(pages).length)
		}`)
	require.NoError(t, <-answered)
	require.Equal(t, "true 3 \"not called\" 1\n"+`true 3 {"success":true,"message":"Page deleted successfully."} 0`, out)
}

// Seed 001: the data that the chat sends with a decision. Adapted: POST /api/agent/approve takes it
// with the id of the request; agentclient/recipes/adk runs it over A2A.
func TestListing_DecisionParts(t *testing.T) {
	t.Parallel()
	code := listing(t, "001", "// Reject with reason")
	hub := hubtest.Start(t)
	out := runTypeScript(t, hub, "const reason = 'Duplicate refund', messages = []",
		regexp.MustCompile(`(?m)^\{.*\}$`).ReplaceAllString(code, "messages.push($0)"), "console.log(JSON.stringify(messages))")
	var messages []struct {
		Parts []struct{ Data map[string]any }
	}
	require.NoError(t, json.Unmarshal([]byte(out), &messages), out)
	require.Len(t, messages, 2)
	for i, want := range []schema.Outcome{schema.Approve, schema.Deny} {
		asked := ask(t, hub)
		data := messages[i].Parts[0].Data
		data["approvalId"] = asked.id.String()
		body, err := json.Marshal(data)
		require.NoError(t, err)
		request(t, hub, http.MethodPost, inbox.PathAgentApprove, string(body))
		require.Equal(t, want, (<-asked.decision).Outcome)
	}
}

// Seed 001: the tools of an agent and those that require approval.
func TestListing_RequireApproval(t *testing.T) {
	t.Parallel()
	var agent struct {
		Spec struct {
			Declarative struct {
				Tools []struct {
					McpServer struct {
						ToolNames       []string `yaml:"toolNames"`
						RequireApproval []string `yaml:"requireApproval"`
					} `yaml:"mcpServer"`
				}
			}
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(listing(t, "001", "kind: Agent")), &agent))
	server := agent.Spec.Declarative.Tools[0].McpServer
	gate, err := agentclient.RequireApproval(server.ToolNames, server.RequireApproval)
	require.NoError(t, err)
	require.Equal(t, policy.Ask, gate.Evaluate(policy.Call{Name: "delete_file"}).Effect)
	require.Empty(t, gate.Evaluate(policy.Call{Name: "read_file"}).Effect)
}

// Seed 002: the requests of the REST API. Adapted: the id of the example is that of the question.
func TestListing_RESTRequests(t *testing.T) {
	t.Parallel()
	list, shown := listing(t, "002", "GET /api/approvals\n"), listing(t, "002", `"requestedAt"`)
	hub := hubtest.Start(t)
	for mark, check := range map[string]func(agentclient.Decision){
		"/approve": func(d agentclient.Decision) {
			require.True(t, d.Approved())
			require.JSONEq(t, `{"orderId":"1234","amount":25000}`, string(d.Arguments))
		},
		"/reject": func(d agentclient.Decision) {
			require.Equal(t, schema.Deny, d.Outcome)
			require.Equal(t, "This order was already refunded", d.Reason)
		},
	} {
		asked := ask(t, hub)
		var want, got []map[string]any
		require.NoError(t, json.Unmarshal([]byte(shown), &want))
		require.NoError(t, json.Unmarshal(sendListing(t, hub, list), &got))
		require.Len(t, got, 1)
		for member := range want[0] {
			if member != "userPrompt" { // optional: this agent sends none
				require.Contains(t, got[0], member)
			}
		}
		sendListing(t, hub, strings.ReplaceAll(listing(t, "002", "POST /api/approvals/abc-123"+mark+"\nContent-Type"), "abc-123", asked.id.String()))
		check(<-asked.decision)
	}
}

// Seed 002: the configuration.
func TestListing_Configuration(t *testing.T) {
	t.Parallel()
	var file struct {
		Arc struct {
			Reactor struct{ Approval agentclient.Approvals }
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(listing(t, "002", "timeout-ms: 300000")), &file))
	require.Equal(t, agentclient.Approvals{
		Enabled: true, TimeoutMS: 300_000, ToolNames: []string{"delete_order", "process_refund", "send_payment"},
	}, file.Arc.Reactor.Approval)
}

// Seed 002: the policies in Kotlin. Adapted: the annotations of Spring and the class of the users are empty,
// the policy that the seed names without its text is added, and a call that a policy holds asks the hub.
func TestListing_KotlinPolicies(t *testing.T) {
	t.Parallel()
	var code strings.Builder
	for _, mark := range []string{"interface ToolApprovalPolicy", "fun approvalPolicy()", "class AmountPolicy", "class RoleBasedPolicy", "class CompositePolicy"} {
		code.WriteString(listing(t, "002", mark))
	}
	if _, err := exec.LookPath("kotlinc"); err != nil {
		t.Skip("no kotlinc: Debian has it in the package kotlin")
	}
	program := `
		annotation class Component
		annotation class Bean
		class UserStore
		class AlwaysApprovePolicy : ToolApprovalPolicy {
			override fun requiresApproval(toolName: String, arguments: Map<String, Any?>) = false
		}
		` + code.String() + `
		fun ask(tool: String, amount: Int): String {
			val hub = java.net.URL(System.getenv("HUB") + "/ask").openConnection() as java.net.HttpURLConnection
			hub.doOutput = true
			hub.setRequestProperty("Content-Type", "application/json")
			val body = """{"question":"Run it?","toolCall":{"name":"$tool","arguments":{"amount":$amount}}}"""
			hub.outputStream.use { it.write(body.toByteArray()) }
			return Regex("\"outcome\":\"([a-z]+)\"").find(hub.inputStream.reader().readText())!!.groupValues[1]
		}
		fun main() {
			val policy = CompositePolicy(listOf(approvalPolicy(), AmountPolicy(), RoleBasedPolicy(UserStore())))
			for ((tool, amount) in listOf("pay" to 10_001, "delete_order" to 1, "pay" to 10_000))
				println(if (policy.requiresApproval(tool, mapOf("amount" to amount))) ask(tool, amount) else "runs")
		}`
	hub := hubtest.Start(t)
	answered := make(chan error, 1)
	go func() {
		answered <- hub.Answer(t.Context(), schema.Response{Permission: new(true)}, schema.Response{Permission: new(false)})
	}()
	out := runListing(t, hub, "listing.kt", program, "sh", "-c", `kotlinc "$0" -d listing.jar && kotlin -classpath listing.jar ListingKt`)
	require.NoError(t, <-answered)
	require.Equal(t, "approve\ndeny\nruns", out)

	same := policy.Any(policy.Never(), policy.Above("amount", 10_000), policy.Tools("delete_order", "process_refund", "modify_account"))
	for call, want := range map[[2]string]policy.Effect{
		{"pay", "10001"}: policy.Ask, {"delete_order", "1"}: policy.Ask, {"pay", "10000"}: "",
	} {
		require.Equal(t, want, same.Evaluate(policy.Call{Name: call[0], Arguments: json.RawMessage(`{"amount":` + call[1] + `}`)}).Effect)
	}
}

// python returns a Python with the packages that the listings import.
func python(t *testing.T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("HOOKBACK_REFERENCE_PYTHON"), "python3", "/usr/bin/python3"} {
		if name != "" && exec.CommandContext(t.Context(), name, "-c", "import websockets.server, requests").Run() == nil {
			return name
		}
	}
	t.Skip("no Python with websockets and requests: run scripts/python.sh")
	return ""
}

// Seed 003: the agent in Python and its use. Adapted: the methods are put into the class, the use into a
// function, the hub has another port, the listener and the request use the same port (the listings use two),
// and both run at once (the listing waits for the listener to end).
func TestListing_PythonAgent(t *testing.T) {
	t.Parallel()
	program := "import time\nimport requests\nresponse_data = {}\n" + listing(t, "003", "def find_free_port") + listing(t, "003", "# Define permission type constants") +
		listing(t, "003", "class HITLManager") + listing(t, "003", "async def request_approval") + listing(t, "003", "def extract_answer") + `
HITLManager.request_approval, HITLManager.extract_answer = request_approval, extract_answer
free_port, listen = find_free_port, HITLManager.start_server
find_free_port = lambda: used_port

async def start_server(self, port):
    global used_port, listener
    used_port = free_port()
    listener = asyncio.create_task(listen(self, used_port))

HITLManager.start_server = start_server
modify_env_file = lambda: print("changed")

async def use():
` + regexp.MustCompile(`(?m)^`).ReplaceAllString(listing(t, "003", "hitl_manager = HITLManager()"), "    ") + `
async def main():
    print(await use())
    print(await use())
    manager = HITLManager()
    await manager.start_server(0)
    for kind in ("question", "choice"):
        data = await manager.request_approval("naming", "Which style?", "session-123", kind)
        print(manager.extract_answer(data, kind), data["hookEvent"]["payload"]["permission_type"])

asyncio.run(main())
`
	interpreter := python(t)
	hub := hubtest.Start(t)
	answered := make(chan error, 1)
	go func() {
		answered <- hub.Answer(t.Context(), schema.Response{Permission: new(true)}, schema.Response{Permission: new(false)},
			schema.Response{Response: new("Use snake_case")}, schema.Response{Response: new("Jest")})
	}()
	out := runListing(t, hub, "agent.py", strings.ReplaceAll(program, "http://localhost:4000", hub.URL()), interpreter)
	require.NoError(t, <-answered)
	require.Equal(t, "changed\nNone\n{'error': 'Permission denied'}\nUse snake_case naming\nJest naming", out)
}

// Seed 003: the body of an event, unchanged.
func TestListing_EventBody(t *testing.T) {
	t.Parallel()
	body := listing(t, "003", `"source_app": "big-three-agents: alice"`)
	hub := hubtest.Start(t)
	var stored schema.Event
	require.NoError(t, json.Unmarshal(request(t, hub, http.MethodPost, schema.PathEvents, body), &stored))
	require.Equal(t, "big-three-agents: alice", stored.SourceApp)
	require.Equal(t, schema.Permission, stored.HumanInTheLoop.Type)
	require.Equal(t, schema.Pending, stored.HumanInTheLoopStatus.Status)
}

// sendListing sends a request that is written as its first line, headers and body.
func sendListing(t *testing.T, hub *hubtest.Hub, text string) []byte {
	t.Helper()
	head, body, _ := strings.Cut(text, "\n\n")
	method, path, _ := strings.Cut(strings.Split(head, "\n")[0], " ")
	return request(t, hub, method, path, body)
}

func request(t *testing.T, hub *hubtest.Hub, method, path, body string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, hub.URL()+path, bytes.NewReader([]byte(body)))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Less(t, res.StatusCode, 300, string(text))
	return text
}
