package notify

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/notify/buttons"
	"github.com/hookback/hookback/server/internal/store"
)

// sendDecision is the result of shouldSend.
type sendDecision struct {
	suppressedBy  string    // reason not to send, as in schema.Notification.Why; empty: send
	cooldownStart time.Time // suppress if the person got a message after this time; zero: no cooldown
}

// shouldSend decides at the time of sending. When in doubt, it sends. The cooldown is only
// computed here: ClaimNotification checks it in the same transaction that claims the
// notification, so that concurrent messages cannot both pass.
func (k *core) shouldSend(ctx context.Context, notification *store.Notification, q *buttons.Question) (sendDecision, error) {
	voted := notification.Person != "" && slices.Contains(q.Status.Recipients, notification.Person) &&
		!slices.Contains(q.Status.Awaiting, notification.Person)
	if q.Status.IsSettled() || voted {
		return sendDecision{suppressedBy: schema.SuppressedAnswered}, nil
	}
	if notification.Person != "" {
		identity, ok := k.identityOf(notification.Person)
		if !ok || !identity.HasRole(schema.Operator) || q.Predates(k.createdAt(notification.Person)) {
			return sendDecision{suppressedBy: schema.SuppressedRemoved}, nil
		}
	}
	settings, err := k.Store.NotificationSettings(ctx, notification.Person)
	if err != nil {
		return sendDecision{}, err
	}
	now := k.Clock()
	if q.Status.Risk != schema.CriticalRisk && q.Ask.Risk != schema.CriticalRisk && inQuietHours(&settings, now) {
		return sendDecision{suppressedBy: schema.SuppressedQuietHours}, nil
	}
	if notification.Person != "" && k.Viewers != nil && k.Viewers.IsViewing(notification.Person) {
		return sendDecision{suppressedBy: schema.SuppressedWatching}, nil
	}
	if settings.CooldownMinutes > 0 {
		return sendDecision{cooldownStart: now.Add(-time.Duration(settings.CooldownMinutes) * time.Minute)}, nil
	}
	return sendDecision{}, nil
}

// inQuietHours reports whether now is within the quiet hours, by local time. On nights
// when the clocks change, quiet hours are longer or shorter.
func inQuietHours(s *schema.NotificationSettings, now time.Time) bool {
	from, okFrom := parseTimeOfDay(s.QuietFrom)
	to, okTo := parseTimeOfDay(s.QuietTo)
	if !okFrom || !okTo {
		return false
	}
	zone, err := time.LoadLocation(s.TimeZone)
	if err != nil {
		return false
	}
	local := now.In(zone)
	at := local.Hour()*60 + local.Minute()
	if from < to {
		return from <= at && at < to
	}
	return at >= from || at < to
}

// parseTimeOfDay parses HH:MM and returns the minutes since midnight.
func parseTimeOfDay(text string) (minutes int, ok bool) {
	if len(text) != 5 || text[2] != ':' {
		return 0, false
	}
	h, errH := strconv.ParseUint(text[:2], 10, 8)
	m, errM := strconv.ParseUint(text[3:], 10, 8)
	return int(h*60 + m), errH == nil && errM == nil && h < 24 && m < 60
}

// maxCooldownMinutes is one week.
const maxCooldownMinutes = 7 * 24 * 60

// CheckSettings returns a schema.FieldError if a setting is invalid.
func CheckSettings(s *schema.NotificationSettings) error {
	if s.CooldownMinutes < 0 || s.CooldownMinutes > maxCooldownMinutes {
		return &schema.FieldError{Field: "cooldownMinutes", Detail: "must be from 0 to " + strconv.Itoa(maxCooldownMinutes)}
	}
	isQuiet := s.QuietFrom != "" || s.QuietTo != ""
	if !isQuiet && s.ReportAt == "" {
		return nil
	}
	for _, f := range []struct {
		name, text string
		isUsed     bool
	}{{"quietFrom", s.QuietFrom, isQuiet}, {"quietTo", s.QuietTo, isQuiet}, {"reportAt", s.ReportAt, s.ReportAt != ""}} {
		if _, ok := parseTimeOfDay(f.text); f.isUsed && !ok {
			return &schema.FieldError{Field: f.name, Detail: "must be a time of day, such as 22:00"}
		}
	}
	if isQuiet && s.QuietFrom == s.QuietTo {
		return &schema.FieldError{Field: "quietTo", Detail: "must differ from quietFrom"}
	}
	if _, err := time.LoadLocation(s.TimeZone); err != nil || s.TimeZone == "" || s.TimeZone == "Local" {
		return &schema.FieldError{Field: "timeZone", Detail: "must be the name of a time zone, such as Europe/Berlin"}
	}
	return nil
}
