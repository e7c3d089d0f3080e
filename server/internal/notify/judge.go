package notify

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// verdict says whether a notice is to be sent now.
type verdict struct {
	why   string    // it is not: as schema.Notice.Why
	since time.Time // it is not either when its person had one after that; zero: it is
}

// judge looks at how things are at the moment of sending. What is not known speaks for
// sending. The cooldown is left to the one step that also takes the notice.
func (n *Notifier) judge(ctx context.Context, notice *store.Notification, q *question) (verdict, error) {
	voted := notice.Person != "" && slices.Contains(q.status.Recipients, notice.Person) && !slices.Contains(q.status.Awaiting, notice.Person)
	if q.status.Settled() || voted {
		return verdict{why: schema.SuppressedAnswered}, nil
	}
	if notice.Person != "" {
		who, known := n.IdentityOf(notice.Person)
		if !known || !who.Is(schema.Operator) || q.older(n.CreatedAt(notice.Person)) {
			return verdict{why: schema.SuppressedRemoved}, nil
		}
	}
	settings, err := n.Store.NotificationSettings(ctx, notice.Person)
	if err != nil {
		return verdict{}, err
	}
	now := n.Clock()
	if q.status.Risk != schema.CriticalRisk && q.hitl.Risk != schema.CriticalRisk && quiet(&settings, now) {
		return verdict{why: schema.SuppressedQuietHours}, nil
	}
	if notice.Person != "" && n.Watching(notice.Person) {
		return verdict{why: schema.SuppressedWatching}, nil
	}
	if settings.CooldownMinutes > 0 {
		return verdict{since: now.Add(-time.Duration(settings.CooldownMinutes) * time.Minute)}, nil
	}
	return verdict{}, nil
}

// quiet reports whether it is within the quiet hours, by the clock on the person's wall:
// where that jumps, they are longer or shorter that night.
func quiet(s *schema.NotificationSettings, now time.Time) bool {
	from, okFrom := clock(s.QuietFrom)
	to, okTo := clock(s.QuietTo)
	if !okFrom || !okTo {
		return false
	}
	zone, err := time.LoadLocation(s.TimeZone)
	if err != nil {
		return false
	}
	wall := now.In(zone)
	at := wall.Hour()*60 + wall.Minute()
	if from < to {
		return from <= at && at < to
	}
	return at >= from || at < to
}

// clock reads a time of day, as minutes.
func clock(text string) (minutes int, ok bool) {
	if len(text) != 5 || text[2] != ':' {
		return 0, false
	}
	h, errH := strconv.ParseUint(text[:2], 10, 8)
	m, errM := strconv.ParseUint(text[3:], 10, 8)
	return int(h*60 + m), errH == nil && errM == nil && h < 24 && m < 60
}

// maxCooldown is a week.
const maxCooldown = 7 * 24 * 60

// CheckSettings refuses settings that mean nothing.
func CheckSettings(s *schema.NotificationSettings) error {
	if s.CooldownMinutes < 0 || s.CooldownMinutes > maxCooldown {
		return &schema.FieldError{Field: "cooldownMinutes", Detail: "must be from 0 to " + strconv.Itoa(maxCooldown)}
	}
	if s.QuietFrom == "" && s.QuietTo == "" {
		return nil
	}
	for _, f := range []struct{ name, text string }{{"quietFrom", s.QuietFrom}, {"quietTo", s.QuietTo}} {
		if _, ok := clock(f.text); !ok {
			return &schema.FieldError{Field: f.name, Detail: "must be a time of day, such as 22:00"}
		}
	}
	if s.QuietFrom == s.QuietTo {
		return &schema.FieldError{Field: "quietTo", Detail: "must be another time than quietFrom"}
	}
	if _, err := time.LoadLocation(s.TimeZone); err != nil || s.TimeZone == "" || s.TimeZone == "Local" {
		return &schema.FieldError{Field: "timeZone", Detail: "must be the name of a time zone, such as Europe/Berlin"}
	}
	return nil
}
