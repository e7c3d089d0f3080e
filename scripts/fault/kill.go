package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/schema"
)

// load is the amount of work while the hub is killed repeatedly.
type load struct{ Kills, Questions, Agents int }

var defaultLoad = load{Kills: 200, Questions: 16_000, Agents: 64}

const (
	people  = 4 // answer questions
	posters = 2 // agents that send events without questions
	options = 3 // options of a choice
)

// killScenario is one run: the hubs of one database, agents that ask, people that answer, and everything
// that a hub has acknowledged to them.
type killScenario struct {
	load
	name      string
	hubs      []*hubProcess
	strike    func(ctx context.Context, s *killScenario) error // one fault: a kill and a start, by default
	knownHubs string                                           // pin file of the agents

	questions, answered, wrong, inUndoWindow atomic.Int64

	mu         sync.Mutex
	events     map[schema.EventID]string    // id → uid of each acknowledged event
	confirmed  map[schema.EventID]bool      // questions whose answer was acknowledged
	undoChecks map[schema.EventID]undoCheck // wrong answers that are undone
	undoneAt   map[schema.EventID]time.Time // when the undo was confirmed
}

// killRun asks, answers and kills, and then verifies that nothing acknowledged is missing.
func killRun(ctx context.Context, at workspace, l load) error {
	hub, err := at.startHub(ctx)
	if err != nil {
		return err
	}
	s := newKillScenario("kill", at, l, hub)
	return errors.Join(s.execute(ctx, at.out), hub.stop(), hub.checkDatabase(ctx))
}

func newKillScenario(name string, at workspace, l load, hubs ...*hubProcess) *killScenario {
	return &killScenario{
		load: l, name: name, hubs: hubs, strike: killAny, knownHubs: filepath.Join(at.dir, "known_hubs"),
		events: map[schema.EventID]string{}, confirmed: map[schema.EventID]bool{},
		undoChecks: map[schema.EventID]undoCheck{}, undoneAt: map[schema.EventID]time.Time{},
	}
}

// killAny kills one hub and starts it again.
func killAny(ctx context.Context, s *killScenario) error {
	hub := s.any()
	return errors.Join(hub.kill(), hub.start(ctx))
}

// any returns one of the hubs. It may be the one that is down.
func (s *killScenario) any() *hubProcess { return s.hubs[rand.IntN(len(s.hubs))] }

// addresses returns the addresses of the hubs, in another order for every other client.
func (s *killScenario) addresses(n int) (urls []string) {
	for i := range s.hubs {
		urls = append(urls, s.hubs[(n+i)%len(s.hubs)].hub)
	}
	return urls
}

// execute runs the load with its faults, verifies the result, and prints it.
func (s *killScenario) execute(ctx context.Context, out io.Writer) error {
	began := time.Now()
	faults, err := s.run(ctx, out)
	err = errors.Join(err, s.verify(ctx), s.verifyUndoChecks())
	fmt.Fprintf(out, "%s: %d faults, %d questions of %d agents, %d correct answers, %d wrong, %d with an undo window, %d undone, %d other events, in %.1f s\n",
		s.name, faults, s.questions.Load(), s.Agents, s.answered.Load(), s.wrong.Load(),
		s.inUndoWindow.Load(), s.undone(), len(s.events), time.Since(began).Seconds())
	return err
}

// run runs agents, people and kills until every agent has its answers.
func (s *killScenario) run(ctx context.Context, out io.Writer) (kills int, err error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	asking, done := context.WithCancel(ctx)
	defer done()

	var helpers sync.WaitGroup
	for i := range people {
		helpers.Go(func() { s.runPerson(asking, i) })
	}
	for i := range posters {
		helpers.Go(func() { s.runPoster(asking, i) })
	}
	var killErr error
	helpers.Go(func() { kills, killErr = s.runKiller(asking, out) })

	errs := make([]error, s.Agents)
	var agents sync.WaitGroup
	for i := range s.Agents {
		agents.Go(func() { errs[i] = s.runAgent(ctx, i) })
	}
	agents.Wait()
	done()
	helpers.Wait()
	return kills, errors.Join(append(errs, killErr)...)
}

// runKiller causes the faults, evenly over the run.
func (s *killScenario) runKiller(ctx context.Context, out io.Writer) (kills int, err error) {
	for kills < s.Kills && ctx.Err() == nil {
		// Kills keep pace with the answers, so that questions remain for the last kill.
		due := s.answered.Load()*int64(s.Kills) >= int64(kills)*int64(s.Questions)*9/10
		sleep(ctx, time.Duration(20+rand.IntN(100))*time.Millisecond)
		if !due || ctx.Err() != nil {
			continue
		}
		if err := s.strike(ctx, s); err != nil {
			return kills, err
		}
		if kills++; kills%20 == 0 {
			fmt.Fprintf(out, "%s: %d faults, %d of %d questions answered\n", s.name, kills, s.answered.Load(), s.Questions)
		}
	}
	return kills, nil
}

// sleep waits for d or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// runAgent asks its share of the questions in sequence and compares each answer with
// the expected one.
func (s *killScenario) runAgent(ctx context.Context, n int) error {
	client := agentclient.New(agentclient.Options{
		Hubs: s.addresses(n), SourceApp: "agent-" + strconv.Itoa(n), SessionID: "fault",
		OnUnreachable: agentclient.Fail, UnreachableAfter: 2 * time.Minute, KnownHubs: s.knownHubs,
	})
	defer func() { _ = client.Close() }()
	for i := n; i < s.Questions; i += s.Agents {
		s.questions.Add(1)
		got, err := client.Ask(ctx, question(i))
		if err != nil {
			return fmt.Errorf("agent %d, question %d: %w", n, i, err)
		}
		if !isExpected(i, got) {
			s.wrong.Add(1)
			return fmt.Errorf("agent %d, question %d: got the answer to another question: %+v", n, i, got)
		}
		s.answered.Add(1)
	}
	return nil
}

// question returns question i. All agents use one permission type, like agents that share
// a version 1 listener.
func question(i int) agentclient.Request {
	r := agentclient.Request{Question: "question " + strconv.Itoa(i), Timeout: 10 * time.Minute}
	switch i % 3 {
	case 0:
		r.Kind = schema.Permission
	case 1:
		r.Kind = schema.FreeText
	default:
		for o := range options {
			r.Choices = append(r.Choices, label(i, o))
		}
	}
	r.Event.Payload = []byte(`{"permission_type":"fault"}`)
	return r
}

func label(i, o int) string { return fmt.Sprintf("option %d of %d", o, i) }

// response returns the expected answer to question i.
func response(i int) schema.Response {
	switch i % 3 {
	case 0:
		yes := i%2 == 0
		return schema.Response{Permission: &yes}
	case 1:
		text := "answer " + strconv.Itoa(i)
		return schema.Response{Response: &text}
	default:
		chosen := label(i, i/3%options)
		return schema.Response{Choice: &chosen}
	}
}

func isExpected(i int, got agentclient.Decision) bool {
	want := response(i)
	switch i % 3 {
	case 0:
		return got.Approved() == *want.Permission && got.Source == schema.ByHuman
	case 1:
		return got.Text == *want.Response
	default:
		return got.Choice == *want.Choice
	}
}

// runPerson answers pending questions n, n+people, n+2*people … without delay.
func (s *killScenario) runPerson(ctx context.Context, n int) {
	for ctx.Err() == nil {
		var pending []schema.Event
		asked := time.Now()
		if s.any().get(ctx, schema.PathEvents+"?status=pending&limit=500", &pending) != nil || len(pending) == 0 {
			sleep(ctx, 5*time.Millisecond)
			continue
		}
		for _, e := range pending {
			if int(e.ID)%people == n {
				s.respondTo(ctx, e, asked)
			}
		}
	}
}

// respondTo answers a pending question, or continues its undo check.
func (s *killScenario) respondTo(ctx context.Context, e schema.Event, asked time.Time) {
	i, err := strconv.Atoi(strings.TrimPrefix(e.HumanInTheLoop.Question, "question "))
	held := e.HumanInTheLoopStatus.Held != nil
	switch {
	case err != nil:
	case hasUndoCheck(i) && s.checkUndo(ctx, e.ID, i, held, asked):
	case held: // its undo window is running
	default:
		s.answer(ctx, e.ID, i)
	}
}

func (s *killScenario) answer(ctx context.Context, id schema.EventID, i int) {
	r := response(i)
	if usesUndoWindow(i) {
		r.HoldMS = undoWindow.Milliseconds()
		s.inUndoWindow.Add(1)
	}
	if s.any().post(ctx, schema.At(schema.PathRespond, id), r, nil) != nil {
		return // the hub was killed before or after it stored the answer; a later list shows which
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.confirmed[id] = true
}

// runPoster sends events and records the acknowledged ones.
func (s *killScenario) runPoster(ctx context.Context, n int) {
	client := agentclient.New(agentclient.Options{
		Hubs: s.addresses(n), SourceApp: "poster-" + strconv.Itoa(n), SessionID: "fault", UnreachableAfter: 2 * time.Minute, KnownHubs: s.knownHubs,
	})
	defer func() { _ = client.Close() }()
	for ctx.Err() == nil {
		saved, err := client.Send(ctx, schema.Event{HookEventType: "PostToolUse", Payload: []byte(`{"tool_name":"Bash"}`)})
		if err != nil {
			continue
		}
		s.mu.Lock()
		s.events[saved.ID] = saved.UID
		s.mu.Unlock()
		sleep(ctx, time.Millisecond)
	}
}

// verify checks that everything acknowledged is stored.
func (s *killScenario) verify(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, err := s.hubs[0].events(ctx)
	if err != nil {
		return err
	}
	lost, altered, unsettled := 0, 0, 0
	for id, uid := range s.events {
		switch e, ok := found[id]; {
		case !ok:
			lost++
		case e.UID != uid:
			altered++
		}
	}
	for id := range maps.Keys(s.confirmed) {
		switch e, ok := found[id]; {
		case !ok:
			lost++
		case e.HumanInTheLoopStatus == nil || e.HumanInTheLoopStatus.Status != schema.Responded:
			unsettled++
		}
	}
	if lost+altered+unsettled > 0 {
		return fmt.Errorf("of %d acknowledged events and %d acknowledged answers: %d lost, %d altered, %d answers gone",
			len(s.events), len(s.confirmed), lost, altered, unsettled)
	}
	return nil
}
