// Command architecture draws the picture of server/docs/architecture.md: the parts of
// a hub, the path of an event and the path of an answer. With -circles it prints the
// packages whose files refer to one another in circles: such files are one file in several
// pieces.
//
//	go run ./scripts/architecture          # from the root of the repository
//	go run ./scripts/architecture -circles
//
// The output depends on this file alone, and a test fails if the checked-in picture is
// out of date.
package main

import (
	"bytes"
	"encoding/xml"
	"flag"
	"fmt"
	"os"
	"strings"
)

// picture is the drawing's file, relative to the root of the repository.
const picture = "server/docs/architecture.svg"

func main() {
	circles := flag.Bool("circles", false, "print circles of files")
	flag.Parse()
	var err error
	if *circles {
		err = printCircles(os.Stdout)
	} else {
		err = os.WriteFile(picture, draw(), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "architecture:", err)
		os.Exit(1)
	}
}

// Sizes in pixels.
const (
	width, height = 1000, 560
	lineHeight    = 17
)

// style is the fill and stroke of a box, or the color of an arrow.
type style string

const (
	outside    style = "outside"    // programs and people around the hub
	component  style = "component"  // a package that does I/O or owns state
	helper     style = "helper"     // a package that hub calls
	eventPath  style = "event"      // the path of an event
	answerPath style = "answer"     // the path of an answer
	background style = "background" // work behind the log
)

// box is a part of the system: a title and lines of text.
type box struct {
	x, y, w, h int
	style      style
	title      string
	lines      []string
}

// arrow is a step between two parts. Its label is centered at (labelX, labelY).
type arrow struct {
	style          style
	points         [][2]int
	label          string
	labelX, labelY int
}

var boxes = []box{
	{20, 60, 200, 130, outside, "Agents", []string{"hookback hook, ask, mcp", "Go: package agentclient", "any language: HTTP", "models: MCP"}},
	{20, 420, 200, 90, outside, "Waiting agent", []string{"WebSocket listener,", "or a long poll for the answer"}},
	{300, 60, 400, 60, component, "httpapi, mcp", []string{"origin guard, authentication, routes, streams"}},
	{300, 180, 400, 60, component, "hub", []string{"every operation on events and questions"}},
	{300, 256, 85, 30, helper, "question", nil},
	{391, 256, 63, 30, helper, "redact", nil},
	{460, 256, 55, 30, helper, "risk", nil},
	{521, 256, 55, 30, helper, "rules", nil},
	{582, 256, 55, 30, helper, "auth", nil},
	{643, 256, 55, 30, helper, "peer", nil},
	{300, 330, 260, 60, component, "store", []string{"one writer, the log, the outbox"}},
	{590, 330, 110, 60, component, "feed", []string{"ring buffer"}},
	{300, 440, 120, 60, component, "delivery", []string{"calls back"}},
	{440, 440, 120, 60, component, "sessions", []string{"projections"}},
	{590, 440, 110, 60, component, "notify", []string{"messages"}},
	{780, 60, 200, 130, outside, "People", []string{"dashboard in a browser", "signed link in a mail", "MCP client with a token"}},
	{780, 420, 200, 90, outside, "Channels", []string{"chat, mail, webhook,", "Web Push"}},
}

var arrows = []arrow{
	{eventPath, [][2]int{{220, 82}, {300, 82}}, "1 POST", 248, 75},
	{eventPath, [][2]int{{440, 120}, {440, 180}}, "2 ingest", 408, 154},
	{eventPath, [][2]int{{388, 240}, {388, 330}}, "3 append", 423, 314},
	{eventPath, [][2]int{{560, 352}, {590, 352}}, "4", 575, 345},
	{eventPath, [][2]int{{700, 352}, {740, 352}, {740, 160}, {780, 160}}, "5 stream", 770, 260},

	{answerPath, [][2]int{{780, 94}, {700, 94}}, "A POST", 751, 87},
	{answerPath, [][2]int{{560, 120}, {560, 180}}, "B respond", 594, 154},
	{answerPath, [][2]int{{518, 240}, {518, 330}}, "C apply", 549, 314},
	{answerPath, [][2]int{{360, 390}, {360, 440}}, "D outbox", 394, 420},
	{answerPath, [][2]int{{300, 470}, {220, 470}}, "E send", 252, 463},

	{background, [][2]int{{610, 390}, {610, 415}, {500, 415}, {500, 440}}, "", 0, 0},
	{background, [][2]int{{645, 390}, {645, 440}}, "", 0, 0},
	{background, [][2]int{{700, 470}, {780, 470}}, "send", 750, 463},
}

// draw returns the picture as SVG.
func draw() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="title description">
<title id="title">The parts of a Hookback hub</title>
<desc id="description">An event goes from an agent over httpapi and hub into the store, from there to the feed and to every open page. An answer goes from a person over httpapi and hub into the store, from there to delivery and to the waiting agent.</desc>
<style>
text { font: 13px system-ui, sans-serif; fill: #1c2430; text-anchor: middle; }
.name { font-weight: 600; font-size: 14px; }
.step { font-size: 12px; }
.outside { fill: #f3f4f6; stroke: #9aa3af; }
.component { fill: #ffffff; stroke: #4b5563; }
.helper { fill: #ffffff; stroke: #9aa3af; stroke-dasharray: 4 3; }
.line { fill: none; stroke-width: 2; }
.line-event { stroke: #1d4ed8; } .head-event, .step-event { fill: #1d4ed8; }
.line-answer { stroke: #15803d; } .head-answer, .step-answer { fill: #15803d; }
.line-background { stroke: #6b7280; stroke-dasharray: 5 4; } .head-background, .step-background { fill: #6b7280; }
</style>
`, width, height, width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", width, height)
	b.WriteString(`<rect x="280" y="24" width="440" height="496" rx="10" fill="#f8fafc" stroke="#4b5563"/>` + "\n")
	b.WriteString(`<text class="name" x="500" y="46">Hookback hub: one process, SQLite or PostgreSQL</text>` + "\n")
	for _, s := range []style{eventPath, answerPath, background} {
		fmt.Fprintf(&b, `<marker id="head-%s" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto"><path class="head-%s" d="M0 0L10 5L0 10z"/></marker>`+"\n", s, s)
	}
	for _, part := range boxes {
		part.draw(&b)
	}
	for _, step := range arrows {
		step.draw(&b)
	}
	b.WriteString(`<text class="step-event" x="330" y="545">1 to 5: the path of an event</text>` + "\n")
	b.WriteString(`<text class="step-answer" x="540" y="545">A to E: the path of an answer</text>` + "\n")
	b.WriteString(`<text class="step-background" x="740" y="545">dashed: behind the log</text>` + "\n</svg>\n")
	return b.Bytes()
}

func (p box) draw(b *bytes.Buffer) {
	fmt.Fprintf(b, `<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="6"/>`+"\n", p.style, p.x, p.y, p.w, p.h)
	middle, top := p.x+p.w/2, p.y+p.h/2-len(p.lines)*lineHeight/2+5
	fmt.Fprintf(b, `<text class="name" x="%d" y="%d">%s</text>`+"\n", middle, top, escape(p.title))
	for i, line := range p.lines {
		fmt.Fprintf(b, `<text x="%d" y="%d">%s</text>`+"\n", middle, top+(i+1)*lineHeight, escape(line))
	}
}

func (a arrow) draw(b *bytes.Buffer) {
	points := make([]string, len(a.points))
	for i, p := range a.points {
		points[i] = fmt.Sprintf("%d,%d", p[0], p[1])
	}
	fmt.Fprintf(b, `<polyline class="line line-%s" points="%s" marker-end="url(#head-%s)"/>`+"\n", a.style, strings.Join(points, " "), a.style)
	if a.label != "" {
		fmt.Fprintf(b, `<text class="step step-%s" x="%d" y="%d">%s</text>`+"\n", a.style, a.labelX, a.labelY, escape(a.label))
	}
}

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a strings.Builder does not fail
	return b.String()
}
