package studio

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/filter"
	"github.com/hookback/hookback/server/internal/ratings"
	"github.com/hookback/hookback/server/internal/sessions/digest"
	"github.com/hookback/hookback/server/internal/store"
)

// Limits of the reports that are listed. Reports come from programs outside our control.
const (
	maxPolicies = 100
	maxFiles    = 32 // of one report
)

// fileKey identifies a policy file on a machine.
type fileKey struct {
	origin     history.PolicyOrigin
	path, host string
}

// reportedFile is a policy file of which there are reports.
type reportedFile struct {
	history.ReportedPolicy
	name   string // in locations
	dir    string // of a project
	parsed *file  // nil: its rules are not known
	seen   map[store.SessionKey]bool
}

// reports are the policy files that hooks reported, within the limits of a read.
type reports struct {
	files    map[fileKey]*reportedFile
	sessions map[store.SessionKey][]fileKey // the files of a session's newest report, in order
	onlyUser *reportedFile                  // the user's file, if there is only one; nil: several or none
}

// readReports reads the reports of the last days, newest first.
func (s *Service) readReports(ctx context.Context, now time.Time) (r *reports, complete bool, err error) {
	terms, err := filter.Parse(`type:"` + control.PolicyEvent + `"`)
	if err != nil {
		return nil, false, err
	}
	r = &reports{files: map[fileKey]*reportedFile{}, sessions: map[store.SessionKey][]fileKey{}}
	isUnknown := false
	complete, err = s.Calls.SearchBack(ctx, terms, now, func(e *store.Event) bool {
		r.add(e)
		isUnknown = isUnknown || e.PayloadBytes > 0 // too large for a list
		return true
	})
	return r, complete && !isUnknown, err
}

// add adds a report that is older than the ones before.
func (r *reports) add(e *store.Event) {
	var report control.PolicyReport
	if e.Type != control.PolicyEvent || e.App == schema.TestApp || json.Unmarshal(e.Payload, &report) != nil {
		return
	}
	session := store.SessionKey{App: e.App, Session: e.Session}
	_, isOlder := r.sessions[session]
	for _, f := range report.Files[:min(len(report.Files), maxFiles)] {
		origin, known := originOf(history.PolicyOrigin(f.Origin))
		if !known || f.Path == "" || len(f.Path) > schema.MaxName || len(report.Host) > schema.MaxName {
			continue
		}
		key := fileKey{origin, f.Path, report.Host}
		if r.files[key] == nil {
			r.files[key] = newReportedFile(e, &report, &f, origin)
		}
		r.files[key].seen[session] = true
		if !isOlder {
			r.sessions[session] = append(r.sessions[session], key)
		}
	}
}

func newReportedFile(e *store.Event, report *control.PolicyReport, f *control.PolicyFile, origin history.PolicyOrigin) *reportedFile {
	facts := digest.Parse(&digest.Event{ID: e.ID, App: e.App, Session: e.Session, Type: e.Type, Envelope: e.Envelope})
	p := &reportedFile{dir: folderOf(f.Path), seen: map[store.SessionKey]bool{}, ReportedPolicy: history.ReportedPolicy{
		Origin: origin, Path: ratings.EscapeInvisible(f.Path), Cwd: ratings.EscapeInvisible(report.Cwd), Host: ratings.EscapeInvisible(report.Host),
		Person: ratings.EscapeInvisible(cmp.Or(facts.TokenOwner, facts.UserEmail, facts.OSUser)), Hash: ratings.EscapeInvisible(f.SHA256),
		ReportedAt: schema.Millis(e.ReceivedAt.UnixMilli()), Event: e.ID, Text: f.Text, Problems: []history.PolicyProblem{}, Rules: []history.PolicyRule{},
	}}
	if len(f.Text) > history.MaxPolicyText {
		p.Text, f.Problem = "", tooLarge
	}
	if p.Text == "" {
		p.Problems = []history.PolicyProblem{{Text: ratings.EscapeInvisible(cmp.Or(f.Problem, tooLarge))}}
	}
	return p
}

const tooLarge = "the file is larger than a report"

// folderOf returns the folder of a file of any system.
func folderOf(path string) string { return path[:max(strings.LastIndexAny(path, `/\`), 0)] }

// parse parses the file. name identifies it in locations.
func (p *reportedFile) parse(name string) {
	p.name = name
	parsed, err := parseFile(name, p.Text, p.Origin)
	var invalid *policy.Error
	switch {
	case p.Text == "":
	case errors.As(err, &invalid):
		p.Problems = problemsOf(invalid.Problems)
	case err == nil:
		p.parsed, p.Rules = parsed, parsed.rules
	}
}

// listed returns the files with the newest reports, user files before project files. Other files are
// removed.
func (r *reports) listed() []*reportedFile {
	files := slices.SortedFunc(maps.Values(r.files), func(a, b *reportedFile) int { return -cmp.Compare(a.Event, b.Event) })
	if len(files) > maxPolicies {
		oldest := files[maxPolicies-1].Event
		maps.DeleteFunc(r.files, func(_ fileKey, p *reportedFile) bool { return p.Event < oldest })
		files = files[:maxPolicies]
	}
	slices.SortFunc(files, func(a, b *reportedFile) int {
		return cmp.Or(-cmp.Compare(a.Origin, b.Origin), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Host, b.Host))
	})
	if len(files) > 0 && files[0].Origin == history.OriginUser && (len(files) == 1 || files[1].Origin != history.OriginUser) {
		r.onlyUser = files[0]
	}
	return files
}
