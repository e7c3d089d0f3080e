package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/schema"
)

// pairAskRounds is the number of questions whose hub is killed.
const pairAskRounds = 20

// ownerLead is longer than the time in which only the hub of a new question dials its agent.
const ownerLead = 1200 * time.Millisecond

// pairAskRun kills the hub of an agent that waits for an answer. A load balancer moves the agent to the
// other hub, where a person answers.
func pairAskRun(ctx context.Context, at workspace) (err error) {
	p, err := at.startPair(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	var took []time.Duration
	for i := range pairAskRounds {
		first, second := p.hubs[i%2], p.hubs[1-i%2]
		p.balancer.retarget(first.addr)
		ask := startAsk(ctx, []string{"http://" + p.balancer.addr()}, i, filepath.Join(at.dir, "known_hubs"))
		if err := ask.answer(ctx, second, func() error {
			sleep(ctx, ownerLead)
			p.balancer.retarget(second.addr)
			return first.kill()
		}); err != nil {
			return err
		}
		answered := time.Now()
		if err := ask.wait(); err != nil {
			return err
		}
		since := answered
		if c := p.balancer.lastConnected(); c.After(since) {
			since = c // the agent found the other hub after the answer
		}
		took = append(took, time.Since(since))
		if err := first.start(ctx); err != nil {
			return err
		}
	}
	slices.Sort(took)
	fmt.Fprintf(at.out, "pair-ask: %d of %d right answers after the hub of the agent was killed; from the agent's new connection to its answer: median %.0f ms, longest %.0f ms\n",
		len(took), pairAskRounds, milliseconds(took[len(took)/2]), milliseconds(took[len(took)-1]))
	return p.verifyLog(ctx)
}

// pairAsk is a question of an agent that waits.
type pairAsk struct {
	number int
	done   chan struct{}
	err    error // once done is closed
}

// startAsk asks question i.
func startAsk(ctx context.Context, hubs []string, i int, knownHubs string) *pairAsk {
	a := &pairAsk{number: i, done: make(chan struct{})}
	go func() {
		defer close(a.done)
		client := agentclient.New(agentclient.Options{
			Hubs: hubs, SourceApp: "pair", SessionID: "s" + strconv.Itoa(i), OnUnreachable: agentclient.Fail, UnreachableAfter: 30 * time.Second, KnownHubs: knownHubs,
		})
		got, err := client.Ask(ctx, question(i))
		if err == nil && !isExpected(i, got) {
			err = fmt.Errorf("got the answer to another question: %+v", got)
		}
		a.err = errors.Join(err, client.Close())
	}()
	return a
}

// wait returns nil when the right answer has arrived.
func (a *pairAsk) wait() error {
	<-a.done
	if a.err != nil {
		return fmt.Errorf("question %d: %w", a.number, a.err)
	}
	return nil
}

// answer waits until the question is pending on the hub, runs before, and answers the question.
func (a *pairAsk) answer(ctx context.Context, hub *hubProcess, before func() error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		var pending []schema.Event
		err := hub.get(ctx, schema.PathEvents+"?status=pending&limit=500", &pending)
		for _, e := range pending {
			if strings.TrimPrefix(e.HumanInTheLoop.Question, "question ") == strconv.Itoa(a.number) {
				if err := before(); err != nil {
					return err
				}
				return hub.post(ctx, schema.At(schema.PathRespond, e.ID), response(a.number), nil)
			}
		}
		select {
		case <-a.done:
			return fmt.Errorf("question %d is not pending: %w", a.number, a.err)
		case <-ctx.Done():
			return fmt.Errorf("question %d did not arrive: %w", a.number, errors.Join(err, ctx.Err()))
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// answerThrough asks a question through the hubs of an agent and answers it on another hub, when every
// hub may dial the agent. It returns the time from the answer until the agent has it.
func answerThrough(ctx context.Context, agents []string, people *hubProcess, i int, knownHubs string) (time.Duration, error) {
	ask := startAsk(ctx, agents, i, knownHubs)
	var answered time.Time
	err := ask.answer(ctx, people, func() error {
		sleep(ctx, ownerLead)
		answered = time.Now()
		return nil
	})
	if err == nil {
		err = ask.wait()
	}
	return time.Since(answered), err
}

// pairBusRun answers questions on the hub that the agent is not connected to. One hub has no bus.
func pairBusRun(ctx context.Context, at workspace) (err error) {
	p, err := at.startPair(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	if err := p.hubs[1].stop(); err != nil {
		return err
	}
	p.hubs[1].args = append(p.hubs[1].args, "-bus", "none")
	if err := p.hubs[1].start(ctx); err != nil {
		return err
	}
	const rounds = 40
	var took []time.Duration
	for i := range rounds {
		agents, people := p.hubs[i%2], p.hubs[1-i%2]
		one, err := answerThrough(ctx, []string{agents.hub}, people, i, filepath.Join(at.dir, "known_hubs"))
		if err != nil {
			return err
		}
		took = append(took, one)
	}
	slices.Sort(took)
	fmt.Fprintf(at.out, "pair-bus: %d of %d right answers by the other hub, one of both without a bus: median %.0f ms, p99 %.0f ms\n",
		len(took), rounds, milliseconds(took[len(took)/2]), milliseconds(took[len(took)-1]))
	return p.verifyLog(ctx)
}

// pairDatabaseRun cuts one hub off from the database, and drops its packets in a second round.
func pairDatabaseRun(ctx context.Context, at workspace) (err error) {
	p, err := at.startPair(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	number := 0
	for _, fault := range []struct {
		name  string
		start func()
	}{{"cut", p.proxies[0].cut}, {"blackhole", p.proxies[0].blackhole}} {
		fault.start()
		began := time.Now()
		if err := p.hubs[0].awaitReady(ctx, false); err != nil {
			return fmt.Errorf("%s: %w", fault.name, err)
		}
		noticed := time.Since(began)
		for range 10 {
			if _, err := answerThrough(ctx, []string{p.hubs[0].hub, p.hubs[1].hub}, p.hubs[1], number, filepath.Join(at.dir, "known_hubs")); err != nil {
				return fmt.Errorf("%s: %w", fault.name, err)
			}
			number++
		}
		p.proxies[0].heal()
		began = time.Now()
		if err := p.hubs[0].awaitReady(ctx, true); err != nil {
			return fmt.Errorf("healed after a %s: %w", fault.name, err)
		}
		fmt.Fprintf(at.out, "pair-database: %s for one hub: not ready after %.0f ms, 10 of 10 answers through the other, ready %.0f ms after the end\n",
			fault.name, milliseconds(noticed), milliseconds(time.Since(began)))
		if err := p.hubs[0].postEvent(ctx); err != nil {
			return err
		}
	}
	return p.verifyLog(ctx)
}

// pairStartRun starts a second hub next to one whose agent waits. That must change no row.
func pairStartRun(ctx context.Context, at workspace) (err error) {
	p, err := at.startPair(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	if err := p.hubs[1].stop(); err != nil {
		return err
	}
	// A hub without an owner stores a new sign-in code at each start. The second one has removed the link.
	if err := errors.Join(p.hubs[0].stop(), p.hubs[0].start(ctx)); err != nil {
		return err
	}
	owner := &crowdScenario{hub: p.hubs[0], out: at.out, owner: newClient(p.hubs[0].hub)}
	if err := owner.signIn(ctx); err != nil {
		return fmt.Errorf("sign in as owner: %w", err)
	}
	if err := owner.owner.post(ctx, schema.PathLock, map[string]bool{"locked": false}, nil); err != nil {
		return fmt.Errorf("unlock: %w", err)
	}
	ask := startAsk(ctx, []string{p.hubs[0].hub}, 0, filepath.Join(at.dir, "known_hubs"))
	if err := ask.answer(ctx, p.hubs[0], func() error { return p.startSecond(ctx) }); err != nil {
		return err
	}
	if err := ask.wait(); err != nil {
		return fmt.Errorf("open at the start of the second hub: %w", err)
	}
	fmt.Fprintln(at.out, "pair-start: a second hub changed no row but those about itself, and the request that the first one holds got its answer")
	return nil
}

// ownTables hold the facts that a hub stores about itself at its start: its lease, and whether the agents of its machine run the
// gate. Each commit changes the counters in streams; those of the log are the rows of other tables, too.
var ownTables = []string{"hubs", "leases", "coverage", "streams"}

// startSecond starts the second hub. It fails if that changes a row outside ownTables.
func (p *pair) startSecond(ctx context.Context) error {
	sleep(ctx, 3*time.Second) // the first hub has finished its work in the background
	before, err := p.postgres.dump(ctx, pairDatabase, ownTables...)
	if err != nil {
		return err
	}
	if err := p.hubs[1].start(ctx); err != nil {
		return err
	}
	sleep(ctx, 2*time.Second)
	after, err := p.postgres.dump(ctx, pairDatabase, ownTables...)
	if err == nil && before != after {
		err = fmt.Errorf("the start of a second hub changed rows: %s", firstDifference(before, after))
	}
	return err
}

// firstDifference returns the first line that differs.
func firstDifference(before, after string) string {
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return a[i] + " → " + b[i]
		}
	}
	return fmt.Sprintf("%d lines → %d lines", len(a), len(b))
}
