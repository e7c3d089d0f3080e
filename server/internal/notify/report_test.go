package notify

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
)

// fixedReport is the report of every day.
type fixedReport history.Report

func (r *fixedReport) Report(_ context.Context, since string, _ bool) (history.Report, error) {
	if since != "24h" {
		return history.Report{}, schema.ErrInvalid
	}
	return history.Report(*r), nil
}

func TestReport_IsSentOnceAtTheHour(t *testing.T) {
	t.Parallel()
	h, server, mailServer := newHarness(t, ada, grace), startServer(t), startMailServer(t)
	h.addPersonalChannel("ada", server.URL+"/ada")
	h.addPersonalChannel("grace", server.URL+"/grace")
	h.addChannel("smtp://" + mailServer.addr + "/?from=hub@example.com")
	report := &fixedReport{Since: 7}
	h.Reports = report
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	at := func(day, hour, minute int) {
		h.nowMS.Store(time.Date(2026, 11, day, hour, minute, 0, 0, berlin).UnixMilli())
		require.NoError(t, h.sendReports(t.Context()))
	}
	saved := schema.Millis(time.Date(2026, 11, 23, 20, 0, 0, 0, berlin).UnixMilli())
	h.setSettings("ada", schema.NotificationSettings{ReportAt: "07:30", TimeZone: "Europe/Berlin", ReportedAt: saved})
	at(24, 7, 29)
	at(24, 7, 31)
	require.Empty(t, server.requests(), "a day without a line")
	report.Lines = []history.ReportLine{{Number: "2 turns", Text: "ended: api"}, {Number: "$1.00", Text: "spent: http://evil"}}
	at(24, 9, 0)
	at(25, 7, 29)
	require.Empty(t, server.requests(), "before the hour")
	at(25, 12, 0) // the hub was stopped at the hour
	at(25, 12, 1)
	require.Len(t, server.requests(), 1)
	require.Contains(t, server.requests()[0], `"type":"report"`)
	require.Contains(t, server.requests()[0], `2 turns ended: api\n$1.00 spent: `)
	require.Contains(t, server.requests()[0], `/?away=7"`)
	m := mailServer.messageTo(t, ada.Email)
	require.Contains(t, m.text, "What your agents did in the last 24 hours")
	require.Contains(t, m.text, "2 turns ended: api\r\n$1.00 spent: http:/ /evil")
	require.Len(t, mailServer.messages(), 1, "grace chose no hour")
	at(26, 7, 30)
	require.Len(t, server.requests(), 2)
}

func TestCheckSettings_ReportAt(t *testing.T) {
	t.Parallel()
	for at, valid := range map[string]bool{"07:30": true, "24:00": false, "7:30": false} {
		s := schema.NotificationSettings{ReportAt: at, TimeZone: "Europe/Berlin"}
		require.Equal(t, valid, CheckSettings(&s) == nil, at)
		s.TimeZone = ""
		require.Error(t, CheckSettings(&s), "without a zone")
	}
}
