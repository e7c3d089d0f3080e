package control

import (
	"fmt"
	"strings"

	"github.com/hookback/hookback/schema"
)

// PathSafety is the path of the limits at which the hub freezes a session.
const PathSafety = "/api/settings/safety"

// Limits of SafetySettings.
const (
	MinEqualFailures = 2
	MaxEqualFailures = 1000
	MinSpendUSD      = 0.01
	MaxSpendUSD      = 1_000_000
	MinSpendMinutes  = 15
	MaxSpendMinutes  = 24 * 60
)

// SafetySettings is the body of PUT /api/settings/safety: the limits at which the hub freezes a
// session. A missing member turns its rule off.
type SafetySettings struct {
	// EqualFailures is the number of failures of tool calls in a row with the same tool, arguments and
	// error. 0: the rule is off.
	EqualFailures int `json:"equalFailures"`
	// SpendUSD is the cost of a session within SpendMinutes. 0: the rule is off.
	SpendUSD     float64 `json:"spendUsd"`
	SpendMinutes int     `json:"spendMinutes"` // 15 to 1440; 0 only while SpendUSD is 0
}

// Validate checks the limits. Its errors are *schema.FieldError.
func (s *SafetySettings) Validate() error {
	invalid := func(field, format string, args ...any) error {
		return &schema.FieldError{Field: field, Detail: fmt.Sprintf(format, args...)}
	}
	isWindow := s.SpendMinutes >= MinSpendMinutes && s.SpendMinutes <= MaxSpendMinutes
	switch {
	case s.EqualFailures != 0 && (s.EqualFailures < MinEqualFailures || s.EqualFailures > MaxEqualFailures):
		return invalid("equalFailures", "must be %d to %d, or 0 to turn the rule off", MinEqualFailures, MaxEqualFailures)
	case s.SpendUSD != 0 && !(s.SpendUSD >= MinSpendUSD && s.SpendUSD <= MaxSpendUSD):
		return invalid("spendUsd", "must be %.2f to %d, or 0 to turn the rule off", MinSpendUSD, MaxSpendUSD)
	case !isWindow && (s.SpendUSD != 0 || s.SpendMinutes != 0):
		return invalid("spendMinutes", "must be %d to %d", MinSpendMinutes, MaxSpendMinutes)
	default:
		return nil
	}
}

// Safety is the body of GET /api/settings/safety, and the response to PUT.
type Safety struct {
	Settings SafetySettings `json:"settings"` // as stored
	Active   SafetySettings `json:"active"`   // as applied; the flag overrules the settings
	// Flag is the flag that the hub was started with, such as -freeze-after 5. It overrules
	// equalFailures. Absent: none.
	Flag    string   `json:"flag,omitempty"`
	Freezes []Freeze `json:"freezes"` // the last automatic freezes, lifted ones too; the newest first
}

// Dollars returns an amount as text, such as $12.40 or $10.
func Dollars(usd float64) string { return "$" + strings.TrimSuffix(fmt.Sprintf("%.2f", usd), ".00") }

// Minutes returns a number of minutes as text, such as "15 minutes" or "one hour".
func Minutes(minutes int) string {
	unit, n := "minute", minutes
	if minutes%60 == 0 {
		unit, n = "hour", minutes/60
	}
	if n == 1 {
		return "one " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}
