package query

import (
	"time"
	_ "time/tzdata" // containers have no time zone database; adds 450 KB to the binary
)

// ParseTimeZone returns the IANA time zone of that name, UTC for "". It rejects "Local",
// because the hub's own zone means nothing to the client.
func ParseTimeZone(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, invalidField("tz", "must be an IANA time zone, such as Europe/Berlin")
	}
	return zone, nil
}
