// Package coverage keeps which agents run the gate, by machine and account: what machines report about the settings of
// their agents, compared with the facts of the newest event. Neither is verified.
package coverage

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/install"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/ratings"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	reportAge    = 5 * time.Minute // a report that changes nothing is stored again after this time
	maxNameBytes = 200
	// ownMachine is the requester of the hub's own machine. No person and no agent has this name.
	ownMachine = "hub"
)

// Machine reports the installations of the account that this process runs as.
type Machine interface {
	Report() (control.MachineReport, error)
}

// Config holds the dependencies of a Service. Store is required.
type Config struct {
	Store store.Coverage
	// Machine is the hub's own, whose account is checked; nil: none.
	Machine Machine
	// Interval is the time between two checks of the machine, and between saves of the facts of events; default 10 s.
	Interval time.Duration
	Clock    func() time.Time // default: time.Now
	Log      *slog.Logger     // default: discard
}

// Service is safe for concurrent use.
type Service struct {
	Config
	mu      sync.Mutex
	unsaved map[key]fact
	senders map[string]int // how many of unsaved each requester sent
	saving  sync.Mutex     // one save or report at a time: each reads rows and writes them
	warned  map[string]bool
}

type key struct{ host, account, agent string }

// fact has the statements of an agent's newest events.
type fact struct {
	control.GateFacts
	at        time.Time
	requester string
}

// New returns a service. Facts of events are saved by Run.
func New(cfg Config) *Service {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	cfg.Interval = cmp.Or(cfg.Interval, 10*time.Second)
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	return &Service{Config: cfg, unsaved: map[key]fact{}, senders: map[string]int{}, warned: map[string]bool{}}
}

// Observe takes the gate facts of a stored event, and the authenticated name of its sender. It does not block.
func (s *Service) Observe(requester string, e *store.Event) {
	if !bytes.Contains(e.Envelope, []byte(`"`+control.GateMember+`"`)) || e.App == schema.TestApp {
		return
	}
	var envelope struct {
		Agent   string             `json:"agent"`
		Account string             `json:"os_user"`
		Gate    *control.GateFacts `json:"gate"`
	}
	if json.Unmarshal(e.EnvelopeObject(), &envelope) != nil || envelope.Gate == nil {
		return
	}
	f := fact{*envelope.Gate, e.ReceivedAt, requester}
	if len(f.Agents) > control.MaxInstallations {
		f.Agents = nil
	}
	k := key{cleanName(f.Host), cleanName(envelope.Account), cleanName(envelope.Agent)}
	if k.host == "" || k.agent == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	earlier, known := s.unsaved[k]
	switch {
	case known:
		f.complete(earlier.GateFacts)
		f.requester = earlier.requester
		if f.Agents == nil {
			f.Agents = earlier.Agents
		}
	case s.senders[requester] < store.MaxCoverage: // the others are dropped until the next save
		s.senders[requester]++
	default:
		return
	}
	s.unsaved[k] = f
}

// complete takes the facts that most events leave out from the events before.
func (f *fact) complete(earlier control.GateFacts) {
	if f.Settings == "" {
		f.Settings, f.Policy, f.Version = earlier.Settings, earlier.Policy, earlier.Version
	}
}

// Run saves the facts of events and reports the hub's own machine until ctx ends. It always returns nil.
func (s *Service) Run(ctx context.Context) error {
	for ok := true; ok; ok = feed.Sleep(ctx, s.Interval) {
		if err := s.save(ctx); err != nil && ctx.Err() == nil {
			s.Log.Error("gate facts not saved", "retry_in", s.Interval, "err", err)
		}
		s.checkMachine(ctx)
	}
	return nil
}

func (s *Service) checkMachine(ctx context.Context) {
	if s.Machine == nil {
		return
	}
	report, err := s.Machine.Report()
	if err == nil {
		_, err = s.Report(ctx, ownMachine, report)
	}
	if err != nil && ctx.Err() == nil {
		s.Log.Warn("installations of this machine not checked", "retry_in", s.Interval, "err", err)
	}
}

// save stores the facts of the events since the last save.
func (s *Service) save(ctx context.Context) error {
	s.saving.Lock()
	defer s.saving.Unlock()
	s.mu.Lock()
	isSaved := len(s.unsaved) == 0
	s.mu.Unlock()
	if isSaved {
		return nil
	}
	_, err := s.saved(ctx)
	return err
}

// saved stores the facts of events and returns all rows. The caller holds saving.
func (s *Service) saved(ctx context.Context) (*table, error) {
	rows, err := s.Store.Coverage(ctx)
	if err != nil {
		return nil, err
	}
	known := newTable(rows, s.Clock())
	s.mu.Lock()
	unsaved := s.unsaved
	s.unsaved, s.senders = map[key]fact{}, map[string]int{}
	s.mu.Unlock()
	if len(unsaved) == 0 {
		return known, nil
	}
	var changed []store.CoverageRow
	for k, f := range unsaved {
		if !known.admit(f.requester, k) {
			s.warn(f.requester)
			continue
		}
		changed = append(changed, f.row(k, known))
		if f.Agents != nil {
			reported, err := reportRows(f.requester, control.MachineReport{Host: k.host, Account: k.account, Agents: f.Agents}, known, f.at)
			changed = append(changed, reported...)
			if errors.Is(err, errFull) {
				s.warn(f.requester)
			}
		}
	}
	if err := s.Store.PutCoverage(ctx, changed, s.Clock()); err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		for k, f := range unsaved {
			if _, newer := s.unsaved[k]; !newer {
				s.unsaved[k] = f
				s.senders[f.requester]++
			}
		}
		return nil, err
	}
	rows, err = s.Store.Coverage(ctx)
	return newTable(rows, s.Clock()), err
}

// row returns the row of the facts of an agent.
func (f fact) row(k key, known *table) store.CoverageRow {
	r := store.CoverageRow{Host: k.host, Account: k.account, Agent: k.agent, Requester: f.requester, ProvenAt: f.at}
	var earlier control.GateFacts
	_ = decode(known.byKey[k].Proof, &earlier)
	f.complete(earlier)
	f.Agents, f.Host = nil, ""
	f.Client, f.Policy, f.Settings, f.Version = clean(f.Client), clean(f.Policy), clean(f.Settings), clean(f.Version)
	r.Proof, _ = json.Marshal(f.GateFacts) // texts always encode
	return r
}

// warn logs once that new agents of a requester are not kept. The caller holds saving.
func (s *Service) warn(requester string) {
	if !s.warned[requester] {
		s.warned[requester] = true
		s.Log.Warn("new agents not added to the coverage list", "requester", requester, "err", errFull)
	}
}

// Report stores what a machine reports, and returns the states of its agents. requester is the authenticated name of
// the sender. If it has too many agents, those of the report that are new are not stored, and the error wraps
// schema.ErrTooMany.
func (s *Service) Report(ctx context.Context, requester string, report control.MachineReport) (control.CoverageList, error) {
	s.saving.Lock()
	defer s.saving.Unlock()
	report.Host, report.Account = cleanName(report.Host), cleanName(report.Account)
	known, err := s.saved(ctx)
	if err != nil {
		return control.CoverageList{}, err
	}
	reported, err := reportRows(requester, report, known, s.Clock())
	if err != nil && !errors.Is(err, errFull) {
		return control.CoverageList{}, err
	}
	if err := cmp.Or(s.Store.PutCoverage(ctx, reported, s.Clock()), err); err != nil {
		return control.CoverageList{}, err
	}
	rows, err := s.Store.Coverage(ctx)
	rows = slices.DeleteFunc(rows, func(r store.CoverageRow) bool { return r.Host != report.Host || r.Account != report.Account })
	return listOf(rows), err
}

// List returns all agents.
func (s *Service) List(ctx context.Context) (control.CoverageList, error) {
	s.saving.Lock()
	defer s.saving.Unlock()
	known, err := s.saved(ctx)
	if err != nil {
		return control.CoverageList{}, err
	}
	return listOf(known.rows), nil
}

// errFull rejects the new agents of a requester.
var errFull = &schema.HintError{
	Err: &schema.FieldError{
		Field: "agents", Detail: fmt.Sprintf("are not all in the list: this sender has %d agents in the list, and each sent news within a day", store.MaxCoverage),
		Cause: schema.ErrTooMany,
	},
	Hint: "Give machines tokens of their own (Team, Tokens).",
}

// reportRows returns the rows of a report. A row of the machine that it does not have is off. If the error is errFull,
// the rows are those that have room.
func reportRows(requester string, report control.MachineReport, known *table, now time.Time) (rows []store.CoverageRow, err error) {
	if report.Host == "" {
		return nil, &schema.FieldError{Field: "host", Detail: "is required"}
	}
	if len(report.Agents) > control.MaxInstallations {
		return nil, &schema.FieldError{Field: "agents", Detail: "has too many items", Cause: schema.ErrTooMany}
	}
	var full error
	reported := map[string]bool{}
	add := func(i control.Installation) {
		k := key{report.Host, report.Account, i.Agent}
		if !known.admit(requester, k) {
			full = errFull
			return
		}
		text, _ := json.Marshal(i) // texts always encode
		if r := known.byKey[k]; bytes.Equal(r.Report, text) && now.Sub(r.ReportedAt) < reportAge {
			return
		}
		rows = append(rows, store.CoverageRow{Host: k.host, Account: k.account, Agent: k.agent, Requester: requester, Report: text, ReportedAt: now})
	}
	for _, i := range report.Agents {
		switch i.State {
		case "", control.CoverageChanged, control.CoverageObserves, control.CoverageNotLoaded, control.CoverageOff:
		default:
			return nil, &schema.FieldError{Field: "state", Detail: "must be changed, observe only, not loaded or off"}
		}
		for _, text := range []*string{&i.Version, &i.Policy, &i.Settings, &i.Detail} {
			*text = clean(*text)
		}
		if i.Agent = cleanName(i.Agent); i.Agent == "" {
			return nil, &schema.FieldError{Field: "agent", Detail: "is required"}
		}
		reported[i.Agent] = true
		add(i)
	}
	for _, r := range known.byMachine[machine{report.Host, report.Account}] {
		if len(r.Report) > 0 && !reported[r.Agent] {
			add(control.Installation{Agent: r.Agent, State: control.CoverageOff})
		}
	}
	return rows, full
}

type machine struct{ host, account string }

// table has the stored rows by agent and by machine.
type table struct {
	rows      []store.CoverageRow
	byKey     map[key]*store.CoverageRow
	byMachine map[machine][]*store.CoverageRow
	fresh     map[string]int // the agents of a requester that are not stale
}

func newTable(rows []store.CoverageRow, now time.Time) *table {
	t := &table{rows, make(map[key]*store.CoverageRow, len(rows)), map[machine][]*store.CoverageRow{}, map[string]int{}}
	for i := range rows {
		r := &rows[i]
		t.byKey[key{r.Host, r.Account, r.Agent}] = r
		m := machine{r.Host, r.Account}
		t.byMachine[m] = append(t.byMachine[m], r)
		if now.Sub(r.ReportedAt) < store.CoverageStale || now.Sub(r.ProvenAt) < store.CoverageStale {
			t.fresh[r.Requester]++
		}
	}
	return t
}

// admit reports whether the agent is stored, or has room among those of the requester.
func (t *table) admit(requester string, k key) bool {
	if t.byKey[k] != nil {
		return true
	}
	if t.fresh[requester] >= store.MaxCoverage {
		return false
	}
	t.fresh[requester]++
	t.byKey[k] = &store.CoverageRow{}
	return true
}

func listOf(rows []store.CoverageRow) control.CoverageList {
	list := control.CoverageList{Agents: []control.Coverage{}}
	for i := range rows {
		list.Agents = append(list.Agents, stateOf(&rows[i]))
	}
	return list
}

// stateOf compares what a machine reports now with its newest event.
func stateOf(r *store.CoverageRow) control.Coverage {
	var now control.Installation
	var proof control.GateFacts
	err := errors.Join(decode(r.Report, &now), decode(r.Proof, &proof))
	c := control.Coverage{
		Host: r.Host, Account: r.Account, Agent: r.Agent, State: now.State, Version: now.Version, Client: proof.Client,
		ReportedAt: millis(r.ReportedAt), ProvenAt: millis(r.ProvenAt),
	}
	differs := func(a, b string) bool { return a != "" && b != "" && a != b }
	switch {
	case err != nil:
		c.State, c.Detail = control.CoverageNotProven, "what the hub stored about it can't be read"
	case now.State != "":
		c.Reported = now.Detail
	case r.ProvenAt.IsZero():
		c.State, c.Detail = control.CoverageNotProven, "no event came since it was installed"
	case len(r.Report) == 0:
		c.State, c.Version = control.CoverageProven, proof.Version
	case differs(now.Settings, proof.Settings):
		c.State, c.Detail = control.CoverageChanged, "its hooks changed after its newest event"
	case differs(now.Policy, proof.Policy):
		c.State, c.Detail = control.CoverageChanged, "the policy changed after its newest event"
	case differs(now.Version, proof.Version):
		c.State, c.Detail = control.CoverageChanged, "its newest event is of another version"
	default:
		c.State = control.CoverageProven
	}
	c.Remedy = remedy(&c)
	return c
}

// remedy returns the command that mends the state, or the step that proves the gate. Those of the machine itself may be
// more exact, but a hub shows no command that another program wrote.
func remedy(c *control.Coverage) string {
	agent, isKnown := hook.Find(c.Agent)
	switch {
	case !isKnown, c.State == control.CoverageProven:
		return ""
	case c.State == control.CoverageOff, c.State == control.CoverageObserves:
		return "hookback install --agent " + agent.Name
	case c.State == control.CoverageNotLoaded, c.State == control.CoverageChanged && c.Detail == "":
		return "hookback doctor"
	default:
		return cmp.Or(install.Hint(agent.Name), "use "+agent.Title+" once")
	}
}

func decode(text []byte, into any) error {
	if len(text) == 0 {
		return nil
	}
	return json.Unmarshal(text, into)
}

func millis(at time.Time) schema.Millis {
	if at.IsZero() {
		return 0
	}
	return schema.Millis(at.UnixMilli())
}

// clean returns a text of a machine without invisible characters, and cut.
func clean(text string) string {
	if r := []rune(text[:min(len(text), 4*control.MaxInstallationRow)]); len(r) > control.MaxInstallationRow {
		text = string(r[:control.MaxInstallationRow])
	}
	return ratings.EscapeInvisible(text)
}

// cleanName is clean for a name, which is "" if it is too long.
func cleanName(name string) string {
	if len(name) > maxNameBytes || !utf8.ValidString(name) {
		return ""
	}
	return ratings.EscapeInvisible(name)
}
