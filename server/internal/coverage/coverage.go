// Package coverage keeps which agents run the gate, by machine and account: what machines report about the settings of
// their agents, compared with the facts of the newest event. Neither is verified.
package coverage

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/ratings"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	reportAge    = 5 * time.Minute // a report that changes nothing is stored again after this time
	maxUnsaved   = 1000            // agents with facts in memory; those of others are dropped until the next save
	maxNameBytes = 200
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
	saving  sync.Mutex // one save or report at a time: each reads rows and writes them
}

type key struct{ host, account, agent string }

// fact has the statements of an agent's newest events.
type fact struct {
	control.GateFacts
	at time.Time
}

// New returns a service. Facts of events are saved by Run.
func New(cfg Config) *Service {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	cfg.Interval = cmp.Or(cfg.Interval, 10*time.Second)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Service{Config: cfg, unsaved: map[key]fact{}}
}

// Observe takes the gate facts of a stored event. It does not block.
func (s *Service) Observe(e *store.Event) {
	if !bytes.Contains(e.Envelope, []byte(`"`+control.GateMember+`"`)) || e.App == schema.TestApp {
		return
	}
	var envelope struct {
		Agent   string             `json:"agent"`
		Account string             `json:"os_user"`
		Gate    *control.GateFacts `json:"gate"`
	}
	if json.Unmarshal(slices.Concat([]byte("{"), e.Envelope, []byte("}")), &envelope) != nil || envelope.Gate == nil {
		return
	}
	f := fact{*envelope.Gate, e.ReceivedAt}
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
	if known || len(s.unsaved) < maxUnsaved {
		f.complete(earlier.GateFacts)
		if f.Agents == nil {
			f.Agents = earlier.Agents
		}
		s.unsaved[k] = f
	}
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
		_, err = s.Report(ctx, report)
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
func (s *Service) saved(ctx context.Context) (rows []store.CoverageRow, err error) {
	if rows, err = s.Store.Coverage(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	unsaved := s.unsaved
	s.unsaved = map[key]fact{}
	s.mu.Unlock()
	if len(unsaved) == 0 {
		return rows, nil
	}
	var changed []store.CoverageRow
	for k, f := range unsaved {
		r := store.CoverageRow{Host: k.host, Account: k.account, Agent: k.agent}
		if i := slices.IndexFunc(rows, func(r store.CoverageRow) bool { return k == keyOf(&r) }); i >= 0 {
			var earlier control.GateFacts
			_ = json.Unmarshal(rows[i].Proof, &earlier) // empty at first
			f.complete(earlier)
		}
		agents := f.Agents
		f.Agents, f.Host = nil, ""
		f.Client, f.Policy, f.Settings, f.Version = clean(f.Client), clean(f.Policy), clean(f.Settings), clean(f.Version)
		r.Proof, _ = json.Marshal(f.GateFacts) // texts always encode
		r.ProvenAt = f.at
		changed = append(changed, r)
		if agents != nil {
			reported, err := reportRows(control.MachineReport{Host: k.host, Account: k.account, Agents: agents}, rows, f.at)
			if err == nil {
				changed = append(changed, reported...)
			}
		}
	}
	if err := s.Store.PutCoverage(ctx, changed, s.Clock()); err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		for k, f := range unsaved {
			if _, newer := s.unsaved[k]; !newer {
				s.unsaved[k] = f
			}
		}
		return nil, err
	}
	return s.Store.Coverage(ctx)
}

// Report stores what a machine reports, and returns the states of its agents.
func (s *Service) Report(ctx context.Context, report control.MachineReport) (control.CoverageList, error) {
	s.saving.Lock()
	defer s.saving.Unlock()
	report.Host, report.Account = cleanName(report.Host), cleanName(report.Account)
	rows, err := s.saved(ctx)
	if err != nil {
		return control.CoverageList{}, err
	}
	reported, err := reportRows(report, rows, s.Clock())
	if err != nil {
		return control.CoverageList{}, err
	}
	if err := s.Store.PutCoverage(ctx, reported, s.Clock()); err != nil {
		return control.CoverageList{}, err
	}
	rows, err = s.Store.Coverage(ctx)
	rows = slices.DeleteFunc(rows, func(r store.CoverageRow) bool { return r.Host != report.Host || r.Account != report.Account })
	return listOf(rows), err
}

// List returns all agents.
func (s *Service) List(ctx context.Context) (control.CoverageList, error) {
	s.saving.Lock()
	defer s.saving.Unlock()
	rows, err := s.saved(ctx)
	return listOf(rows), err
}

// reportRows returns the rows of a report. A row of the machine that it does not have is off.
func reportRows(report control.MachineReport, known []store.CoverageRow, now time.Time) (rows []store.CoverageRow, err error) {
	if report.Host == "" {
		return nil, &schema.FieldError{Field: "host", Detail: "is required"}
	}
	if len(report.Agents) > control.MaxInstallations {
		return nil, &schema.FieldError{Field: "agents", Detail: "has too many items", Cause: schema.ErrTooMany}
	}
	add := func(i control.Installation) {
		text, _ := json.Marshal(i) // texts always encode
		at := slices.IndexFunc(known, func(k store.CoverageRow) bool {
			return k.Agent == i.Agent && k.Host == report.Host && k.Account == report.Account
		})
		if at >= 0 && bytes.Equal(known[at].Report, text) && now.Sub(known[at].ReportedAt) < reportAge {
			return
		}
		rows = append(rows, store.CoverageRow{Host: report.Host, Account: report.Account, Agent: i.Agent, Report: text, ReportedAt: now})
	}
	for _, i := range report.Agents {
		switch i.State {
		case "", control.CoverageChanged, control.CoverageObserves, control.CoverageNotLoaded, control.CoverageOff:
		default:
			return nil, &schema.FieldError{Field: "state", Detail: "must be changed, observe only, not loaded or off"}
		}
		for _, text := range []*string{&i.Version, &i.Policy, &i.Settings, &i.Detail, &i.Remedy} {
			*text = clean(*text)
		}
		if i.Agent = cleanName(i.Agent); i.Agent == "" {
			return nil, &schema.FieldError{Field: "agent", Detail: "is required"}
		}
		add(i)
	}
	for i := range known {
		k := &known[i]
		if k.Host != report.Host || k.Account != report.Account || len(k.Report) == 0 {
			continue
		}
		if !slices.ContainsFunc(report.Agents, func(r control.Installation) bool { return cleanName(r.Agent) == k.Agent }) {
			add(control.Installation{
				Agent: k.Agent, State: control.CoverageOff, Detail: "its settings have no hooks of Hookback anymore",
				Remedy: "hookback install --agent " + k.Agent,
			})
		}
	}
	return rows, nil
}

func keyOf(r *store.CoverageRow) key { return key{r.Host, r.Account, r.Agent} }

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
		Host: r.Host, Account: r.Account, Agent: r.Agent, State: now.State, Detail: now.Detail, Remedy: now.Remedy,
		Version: now.Version, Client: proof.Client, ReportedAt: millis(r.ReportedAt), ProvenAt: millis(r.ProvenAt),
	}
	differs := func(a, b string) bool { return a != "" && b != "" && a != b }
	switch {
	case err != nil:
		c.State, c.Detail = control.CoverageNotProven, "what the hub stored about it can't be read"
	case now.State != "":
	case r.ProvenAt.IsZero():
		c.State, c.Detail = control.CoverageNotProven, "no event came since it was installed"
	case len(r.Report) == 0:
		c.State, c.Version = control.CoverageProven, proof.Version
	case differs(now.Settings, proof.Settings):
		c.State, c.Detail = control.CoverageChanged, "its hooks changed after its newest event"
	case differs(now.Policy, proof.Policy):
		c.State, c.Detail = control.CoverageChanged, "the policy changed after its newest event"
	case differs(now.Version, proof.Version):
		c.State, c.Detail = control.CoverageChanged, "its newest event is of version "+proof.Version
	default:
		c.State = control.CoverageProven
	}
	if c.State == control.CoverageProven {
		c.Remedy = ""
	}
	return c
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
