package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/schema"
)

// load is how much happens while the hub is being killed.
type load struct{ Kills, Questions, Agents int }

var defaultLoad = load{Kills: 200, Questions: 16_000, Agents: 64}

const (
	people  = 4 // who answer
	posters = 2 // agents that only report
	options = 3 // labels of a choice
)

// scene is one run: a hub, agents that ask, people that answer, and what each of
// them was promised.
type scene struct {
	load
	hub *process

	asked, answered, wrong, held atomic.Int64

	mu     sync.Mutex
	events map[schema.EventID]string // :: id → uid of an event the hub said it has
	agreed map[schema.EventID]bool   // questions whose answer the hub said it has
	slips  map[schema.EventID]slip   // what became of the wrong answers to be undone
}

// killRun asks, answers and kills, and then looks whether anything is missing.
func killRun(ctx context.Context, at site, l load) error {
	if err := os.MkdirAll(at.dir, 0o700); err != nil {
		return err
	}
	hub, err := newProcess(at.bin, filepath.Join(at.dir, "hub.db"))
	if err != nil {
		return err
	}
	s := &scene{load: l, hub: hub, events: map[schema.EventID]string{}, agreed: map[schema.EventID]bool{}, slips: map[schema.EventID]slip{}}
	if err := hub.start(ctx); err != nil {
		return err
	}
	began := time.Now()
	kills, err := s.play(ctx, at.out)
	err = errors.Join(err, s.verify(ctx), s.verifySlips(), hub.stop(), hub.check(ctx))
	fmt.Fprintf(at.out, "kill: %d × kill -9, %d questions of %d agents, %d answers right, %d wrong, %d held, %d undone, %d other events, in %.1f s\n",
		kills, s.asked.Load(), s.Agents, s.answered.Load(), s.wrong.Load(), s.held.Load(), s.undone(), len(s.events), time.Since(began).Seconds())
	return err
}

// play runs everyone until every agent has its answers.
func (s *scene) play(ctx context.Context, out io.Writer) (kills int, err error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	asking, done := context.WithCancel(ctx)
	defer done()

	var helpers sync.WaitGroup
	for i := range people {
		helpers.Go(func() { s.person(asking, i) })
	}
	for i := range posters {
		helpers.Go(func() { s.poster(asking, i) })
	}
	var killErr error
	helpers.Go(func() { kills, killErr = s.killer(asking, out) })

	errs := make([]error, s.Agents)
	var agents sync.WaitGroup
	for i := range s.Agents {
		agents.Go(func() { errs[i] = s.agent(ctx, i) })
	}
	agents.Wait()
	done()
	helpers.Wait()
	return kills, errors.Join(append(errs, killErr)...)
}

// killer kills the hub and starts it again, spread over the run.
func (s *scene) killer(ctx context.Context, out io.Writer) (kills int, err error) {
	for kills < s.Kills && ctx.Err() == nil {
		// Not faster than the questions, so that the last kill still meets some.
		due := s.answered.Load()*int64(s.Kills) >= int64(kills)*int64(s.Questions)*9/10
		wait(ctx, time.Duration(20+rand.IntN(100))*time.Millisecond)
		if !due || ctx.Err() != nil {
			continue
		}
		if err := s.hub.kill(); err != nil {
			return kills, err
		}
		if kills++; kills%20 == 0 {
			fmt.Fprintf(out, "kill: %d kills, %d of %d questions answered\n", kills, s.answered.Load(), s.Questions)
		}
		if err := s.hub.start(ctx); err != nil {
			return kills, err
		}
	}
	return kills, nil
}

// wait passes the time, or returns when ctx ends.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// agent asks its share of the questions, one after the other, and holds every
// answer against the one that its question calls for.
func (s *scene) agent(ctx context.Context, n int) error {
	client := agentclient.New(agentclient.Options{
		Hubs: []string{s.hub.url()}, SourceApp: "agent-" + strconv.Itoa(n), SessionID: "fault",
		OnUnreachable: agentclient.Fail, UnreachableAfter: 2 * time.Minute,
	})
	defer func() { _ = client.Close() }()
	for i := n; i < s.Questions; i += s.Agents {
		s.asked.Add(1)
		got, err := client.Ask(ctx, question(i))
		if err != nil {
			return fmt.Errorf("agent %d, question %d: %w", n, i, err)
		}
		if !right(i, got) {
			s.wrong.Add(1)
			return fmt.Errorf("agent %d, question %d: got the answer to something else: %+v", n, i, got)
		}
		s.answered.Add(1)
	}
	return nil
}

// question is the i-th question. All agents share one permission type, as agents
// of one version 1 listener do.
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

// response is the one right answer to the i-th question.
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

func right(i int, got agentclient.Decision) bool {
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

// person answers every pending question whose id is theirs, as fast as they can.
func (s *scene) person(ctx context.Context, n int) {
	for ctx.Err() == nil {
		var pending []schema.Event
		if get(ctx, s.hub.url()+schema.PathEvents+"?status=pending&limit=500", &pending) != nil || len(pending) == 0 {
			wait(ctx, 5*time.Millisecond)
			continue
		}
		for _, e := range pending {
			if int(e.ID)%people == n {
				s.decide(ctx, e)
			}
		}
	}
}

// decide does what the question at hand calls for.
func (s *scene) decide(ctx context.Context, e schema.Event) {
	i, err := strconv.Atoi(strings.TrimPrefix(e.HumanInTheLoop.Question, "question "))
	held := e.HumanInTheLoopStatus.Held != nil
	switch {
	case err != nil:
	case slippery(i) && s.slip(ctx, e.ID, i, held):
	case held: // it will count in time
	default:
		s.answer(ctx, e.ID, i)
	}
}

func (s *scene) answer(ctx context.Context, id schema.EventID, i int) {
	r := response(i)
	if hesitant(i) {
		r.HoldMS = hesitation.Milliseconds()
		s.held.Add(1)
	}
	if post(ctx, s.hub.url()+schema.At(schema.PathRespond, id), r, nil) != nil {
		return // the hub is down, or was when it had stored the answer: the next look tells
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.agreed[id] = true
}

// poster reports events and notes which of them the hub said it has.
func (s *scene) poster(ctx context.Context, n int) {
	client := agentclient.New(agentclient.Options{
		Hubs: []string{s.hub.url()}, SourceApp: "poster-" + strconv.Itoa(n), SessionID: "fault", UnreachableAfter: 2 * time.Minute,
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
		wait(ctx, time.Millisecond)
	}
}

// verify looks for everything the hub said it has.
func (s *scene) verify(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[schema.EventID]schema.Event{}
	for after := schema.EventID(0); ; {
		var page []schema.Event
		url := fmt.Sprintf("%s%s?after=%d&limit=1000", s.hub.url(), schema.PathEvents, after)
		if err := get(ctx, url, &page); err != nil {
			return fmt.Errorf("reading back: %w", err)
		}
		if len(page) == 0 {
			break
		}
		for _, e := range page {
			found[e.ID] = e
			after = e.ID
		}
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
	for id := range maps.Keys(s.agreed) {
		switch e, ok := found[id]; {
		case !ok:
			lost++
		case e.HumanInTheLoopStatus == nil || e.HumanInTheLoopStatus.Status != schema.Responded:
			unsettled++
		}
	}
	if lost+altered+unsettled > 0 {
		return fmt.Errorf("of %d acknowledged events and %d acknowledged answers: %d lost, %d altered, %d answers gone",
			len(s.events), len(s.agreed), lost, altered, unsettled)
	}
	return nil
}
