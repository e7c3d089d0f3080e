package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/server/internal/intent"
	"github.com/hookback/hookback/server/internal/redact"
	"github.com/hookback/hookback/server/internal/risk"
)

type in struct {
	Agent, Tool, Dir string
	Args             json.RawMessage
}

func main() {
	mode := os.Args[1] // full, short, redact, policy JSON
	var p *policy.File
	if len(os.Args) > 2 {
		var err error
		if p, err = policy.Parse("x", []byte(os.Args[2])); err != nil {
			panic(err)
		}
	}
	r := redact.New()
	sc := bufio.NewScanner(os.Stdin)
	sc.Buffer(nil, 10<<20)
	for sc.Scan() {
		line := sc.Text()
		if line == "" || strings.HasPrefix(line, "##") {
			fmt.Println(line)
			continue
		}
		x := in{Agent: "claude-code", Tool: "Bash", Dir: "/home/dev/shop-api"}
		if strings.HasPrefix(line, `{"tool"`) || strings.HasPrefix(line, `{"agent"`) {
			if err := json.Unmarshal([]byte(line), &x); err != nil {
				fmt.Println("BAD", err, line)
				continue
			}
		} else {
			t := strings.ReplaceAll(line, "⏎", "\n")
			t = strings.ReplaceAll(t, "␍", "\r")
			t = strings.ReplaceAll(t, "␉", "\t")
			t = strings.ReplaceAll(t, "␀", "\x00")
			x.Args, _ = json.Marshal(map[string]string{"command": t})
		}
		if mode == "redact" {
			q, _ := json.Marshal(map[string]any{"tool_name": x.Tool, "tool_input": x.Args})
			c := call.Read(call.Input{Agent: x.Agent, Tool: x.Tool, Dir: x.Dir, Arguments: x.Args})
			out, n := r.Ask(q, func() []call.Line { return c.Lines })
			plain, _ := r.JSON(q)
			var o struct {
				In json.RawMessage `json:"tool_input"`
			}
			json.Unmarshal(out, &o)
			c2 := call.Read(call.Input{Agent: x.Agent, Tool: x.Tool, Dir: x.Dir, Arguments: o.In})
			same := call.SameShape(c, c2)
			fmt.Printf("%d same=%v unread=%d\n    IN  %s\n    ASK %s\n    LOG %s\n", n, same, len(c2.Unread), x.Args, o.In, plain[strings.Index(string(plain), "tool_input")+12:])
			continue
		}
		c := call.Read(call.Input{Agent: x.Agent, Tool: x.Tool, Dir: x.Dir, Arguments: x.Args})
		a := risk.AssessCall(c, x.Dir)
		var b strings.Builder
		fmt.Fprintf(&b, "%-8s %-8s", a.Class, a.Risk)
		if p != nil {
			res := p.Evaluate(policy.Call{Name: x.Tool, Agent: x.Agent, Dir: x.Dir, Arguments: x.Args})
			fmt.Fprintf(&b, " [%s]", res.Effect)
		}
		fmt.Fprintf(&b, " %s\n", line)
		if mode == "full" || mode == "mid" {
			for _, f := range a.Findings {
				fmt.Fprintf(&b, "      ! %s %s: %s @%s\n", f.Risk, f.Code, f.Text, f.Excerpt)
			}
		}
		if mode == "full" {
			for _, k := range c.Commands {
				fmt.Fprintf(&b, "      $ d%d by%d %q in %s\n", k.Depth, k.By, call.Texts(k.Words), k.Dir)
			}
		}
		if mode == "full" || mode == "files" {
			fmt.Fprintf(&b, "      names %v intent %q\n", c.Names, func() string { i := intent.OfCall(c, x.Dir); return intent.String(&i) }())
			for _, f := range c.Files {
				fmt.Fprintf(&b, "      f %s %s\n", f.Op, f.Path)
			}
			for _, f := range c.MayBe {
				fmt.Fprintf(&b, "      ?f %s %s\n", f.Op, f.Path)
			}
			for _, h := range c.Hosts {
				fmt.Fprintf(&b, "      h %s %s %s\n", h.Scheme, h.Method, h.Name)
			}
		}
		for _, u := range c.Unread {
			fmt.Fprintf(&b, "      U %s\n", u.Reason)
		}
		if mode == "full" {
			for _, s := range c.Scripts {
				fmt.Fprintf(&b, "      S %s: %q\n", s.Program, s.Text)
			}
		}
		fmt.Print(b.String())
	}
}
