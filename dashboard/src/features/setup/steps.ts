import type { Event } from '../../lib/api/types'
import { TEST_APP } from '../../lib/stream/agents'
import { hubEnvPrefix } from './agentCommands'
import { stepText } from './text'

/** One way to connect a program to the hub. */
export interface SetupStep {
  id: string
  title: string
  text: string
  /** Commands to copy, in order. */
  commands: { label: string; text: string; where?: string }[]
  /** The source_app of its events. */
  app: string
  /** Possible causes if no event arrives. */
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

def call(path, body=None, secret=""):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", "Hookback-Request-Secret": secret}
    request = urllib.request.Request(hub + path, data, headers)
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read() or b"null")

asked = call("/events", {
    "source_app": "from-python", "session_id": "setup",
    "hook_event_type": "PermissionRequest", "payload": {},
    "humanInTheLoop": {"type": "permission", "question": "May I delete ./build?"},
})
answer = None
while answer is None:  # each call waits up to 30 s for an answer
    answer = call(f"/events/{asked['id']}/response?wait=30", secret=asked["requestSecret"])
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

/** All steps, for a hub at this address. */
export function setupSteps(hub: string): SetupStep[] {
  const env = hubEnvPrefix(hub)
  const { ask, send, curl, python: py, go, repository, path, inTerminal } = stepText
  const reachable = stepText.reachable(hub)

  return [
    {
      id: 'ask',
      title: ask.title,
      text: ask.text,
      commands: [
        { label: ask.install, text: 'go install ./agentclient/cmd/hookback', where: ask.inRepository },
        { label: ask.try, text: `${env}hookback ask 'May I delete ./build?' --app from-ask` },
      ],
      app: 'from-ask',
      troubleshooting: [repository, path, reachable, ask.help],
    },
    {
      id: 'send',
      title: send.title,
      text: send.text,
      commands: [
        {
          label: inTerminal,
          text: `${env}hookback send --type Notification --payload '{"message": "Hello"}' --app from-send`,
        },
      ],
      app: 'from-send',
      troubleshooting: [path, reachable],
    },
    {
      id: 'curl',
      title: curl.title,
      text: curl.text,
      commands: [
        { label: inTerminal, text: `curl -s '${hub}/events' ${json} -d '${question('from-curl')}'` },
      ],
      app: 'from-curl',
      troubleshooting: [reachable, curl.problem],
    },
    {
      id: 'python',
      title: py.title,
      text: py.text,
      commands: [{ label: inTerminal, text: python(hub) }],
      app: 'from-python',
      troubleshooting: [py.version, reachable],
    },
    {
      id: 'go',
      title: go.title,
      text: go.text,
      commands: [{ label: inTerminal, text: goProgram(hub) }],
      app: 'from-go',
      troubleshooting: [repository, reachable],
    },
  ]
}

/** The newest event of each of the apps. events are newest first. */
export function newestByApp(events: Iterable<Event>, apps: ReadonlySet<string>): Map<string, Event> {
  const found = new Map<string, Event>()
  for (const event of events) {
    if (!apps.has(event.source_app) || found.has(event.source_app)) continue
    found.set(event.source_app, event)
    if (found.size === apps.size) break
  }
  return found
}

/** The newest question except test requests. events are newest first. */
export function newestUserQuestion(events: Iterable<Event>): Event | undefined {
  for (const event of events) if (event.humanInTheLoop && event.source_app !== TEST_APP) return event
  return undefined
}
