package notify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/feed"
)

// reportInterval is the time between two checks whether a report is due.
const reportInterval = 30 * time.Second

// runReports sends daily reports until ctx ends.
func (n *Notifier) runReports(ctx context.Context) {
	for feed.Sleep(ctx, reportInterval) {
		if err := n.sendReports(ctx); err != nil && ctx.Err() == nil {
			n.Log.Error("report not sent", "err", err)
		}
	}
}

// sendReports sends the report of the last day to each person whose hour has come since the last one: by Web Push, by
// mail, and through the channels that the person owns or, if they are shared, has added. A day without a line sends
// none, and a report is not sent again.
func (n *Notifier) sendReports(ctx context.Context) error {
	if n.Reports == nil {
		return nil
	}
	r, err := n.loadRecipients(ctx)
	if err != nil || len(r.channels)+len(r.pushSubscribers) == 0 {
		return err
	}
	var failed error
	for _, person := range slices.Sorted(maps.Keys(r.people)) {
		failed = errors.Join(failed, n.sendReport(ctx, r, person))
	}
	return errors.Join(failed, n.sendReport(ctx, r, "")) // the settings of a hub without accounts
}

func (n *Notifier) sendReport(ctx context.Context, r *recipients, person string) error {
	settings, err := n.Store.NotificationSettings(ctx, person)
	now := n.Clock()
	due, isSet := reportDue(&settings, now)
	if err != nil || !isSet || !due.After(time.UnixMilli(int64(settings.ReportedAt))) {
		return err
	}
	settings.ReportedAt = schema.Millis(now.UnixMilli())
	if err := n.Store.SetNotificationSettings(ctx, person, settings); err != nil {
		return err
	}
	report, err := n.Reports.Report(ctx, "24h", false)
	if err != nil || len(report.Lines) == 0 {
		return err
	}
	for _, w := range r.channels {
		if w.perPerson && w.channel.Person == "" || cmp.Or(w.channel.Person, w.channel.CreatedBy) == person {
			n.sendTo(ctx, w, n.reportMessage(person, &report))
		}
	}
	if r.pushSubscribers[person] {
		n.sendTo(ctx, n.worker(&pushChannel), n.reportMessage(person, &report))
	}
	return nil
}

// reportDue returns the last time at which the person's report was due. isSet is false if the person wants none.
func reportDue(s *schema.NotificationSettings, now time.Time) (due time.Time, isSet bool) {
	at, isTime := parseTimeOfDay(s.ReportAt)
	zone, err := time.LoadLocation(s.TimeZone)
	if !isTime || err != nil {
		return due, false
	}
	local := now.In(zone)
	for day := local.Day(); ; day-- {
		if due = time.Date(local.Year(), local.Month(), day, 0, at, 0, 0, zone); !due.After(now) {
			return due, true
		}
	}
}

func (k *core) reportMessage(person string, r *history.Report) *message {
	m := &message{createdAt: k.Clock(), kind: schema.NotificationCreated, person: person, isReport: true}
	var text strings.Builder
	for i := range r.Lines {
		fmt.Fprintf(&text, "%s %s\n", r.Lines[i].Number, r.Lines[i].Text)
	}
	m.text = text.String()
	m.url, m.onlyOn = k.linkTo(fmt.Sprintf("/?away=%d", r.Since))
	return m
}
