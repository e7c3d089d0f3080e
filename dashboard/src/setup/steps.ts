import type { Event } from '../types'
import { hubEnvPrefix } from './agentCommands'

/** A way to connect something, with what it takes. */
export interface SetupStep {
  id: string
  title: string
  text: string
  /** What to copy, one after the other. */
  commands: { label: string; text: string; where?: string }[]
  /** The name its events come under. */
  app: string
  /** What may be wrong when nothing arrives. */
  troubleshooting: string[]
}

const json = `-H 'Content-Type: application/json'`

const question = (app: string) => `{
  "source_app": "${app}", "session_id": "setup", "hook_event_type": "PermissionRequest", "payload": {},
  "humanInTheLoop": {"type": "permission", "question": "May I delete ./build?"}
}`

const python = (hub: string) => `python3 - <<'EOF'
import json, urllib.request

hub = "${hub}"

def call(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(hub + path, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read() or b"null")

asked = call("/events", {
    "source_app": "from-python", "session_id": "setup",
    "hook_event_type": "PermissionRequest", "payload": {},
    "humanInTheLoop": {"type": "permission", "question": "May I delete ./build?"},
})
answer = None
while answer is None:  # each call waits until somebody answers, 30 s at most
    answer = call(f"/events/{asked['id']}/response?wait=30")
print("approved" if answer.get("permission") else "not approved")
EOF`

const goProgram = (hub: string) => `cat > /tmp/hookback-ask.go <<'EOF'
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/hookback/hookback/agentclient"
)

func main() {
	client := agentclient.New(agentclient.Options{
		Hubs: []string{"${hub}"}, SourceApp: "from-go",
	})
	defer client.Close()
	decision, err := client.AskPermission(context.Background(), "May I delete ./build?")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("approved:", decision.Approved())
}
EOF
go run /tmp/hookback-ask.go`

/** Every way, for a hub at this address. */
export function setupSteps(hub: string): SetupStep[] {
  const address = hubEnvPrefix(hub)
  const repository = 'Run it in the directory of the Hookback repository, with Go installed.'
  const reach = `The hub must be reachable at ${hub} from where you run it: curl ${hub}/healthz answers “ok”.`
  const path = 'If the shell does not find hookback: export PATH="$PATH:$(go env GOPATH)/bin"'
  const terminal = 'In a terminal'
  return [
    {
      id: 'ask',
      title: 'Install the command',
      text: 'One small program is all that agents and scripts need. Try it: it waits for your answer here, and its exit status is 0 for yes and 1 for no.',
      commands: [
        { label: '1. Once', text: 'go install ./agentclient/cmd/hookback', where: 'in the repository' },
        { label: '2. Try it', text: `${address}hookback ask 'May I delete ./build?' --app from-ask` },
      ],
      app: 'from-ask',
      troubleshooting: [repository, path, reach, 'hookback help shows what else it can do.'],
    },
    {
      id: 'send',
      title: 'Tell, without asking',
      text: 'An event that asks nothing shows up in the stream.',
      commands: [
        {
          label: terminal,
          text: `${address}hookback send --type Notification --payload '{"message": "Hello"}' --app from-send`,
        },
      ],
      app: 'from-send',
      troubleshooting: [path, reach],
    },
    {
      id: 'curl',
      title: 'curl',
      text: 'One POST is all the protocol takes. The answer stays with the hub until somebody fetches it.',
      commands: [{ label: terminal, text: `curl -s '${hub}/events' ${json} -d '${question('from-curl')}'` }],
      app: 'from-curl',
      troubleshooting: [reach, 'A refusal of the hub says in its JSON what is wrong.'],
    },
    {
      id: 'python',
      title: 'Python',
      text: 'Nothing but the standard library: it asks, waits, and prints what you decided.',
      commands: [{ label: terminal, text: python(hub) }],
      app: 'from-python',
      troubleshooting: ['It needs Python 3.', reach],
    },
    {
      id: 'go',
      title: 'Go',
      text: 'With the client library the hub dials the answer back at once, and proves that it is the hub.',
      commands: [{ label: terminal, text: goProgram(hub) }],
      app: 'from-go',
      troubleshooting: [repository, reach],
    },
  ]
}

/** The newest event of each application that is looked for. events: newest first. */
export function newestByApp(events: Iterable<Event>, apps: ReadonlySet<string>): Map<string, Event> {
  const found = new Map<string, Event>()
  for (const event of events) {
    if (!apps.has(event.source_app) || found.has(event.source_app)) continue
    found.set(event.source_app, event)
    if (found.size === apps.size) break
  }
  return found
}

/** The newest question that is none of this page's own. events: newest first. */
export function newestUserQuestion(events: Iterable<Event>): Event | undefined {
  for (const event of events) if (event.humanInTheLoop && event.source_app !== 'demo') return event
  return undefined
}

/** The question that a person can raise here, to see how it goes. */
export const testRequest = (session: string): Omit<Event, 'id'> => ({
  source_app: 'demo',
  session_id: session,
  hook_event_type: 'PermissionRequest',
  payload: {},
  humanInTheLoop: {
    type: 'permission',
    question: 'May I delete ./build?',
    timeout: 600,
    risk: 'low',
    toolCall: { name: 'Bash', arguments: { command: 'rm -r ./build', description: 'Remove the build' } },
    context: { why: 'This is a demonstration. Nothing runs and nothing is deleted, whatever you answer.' },
  },
})
