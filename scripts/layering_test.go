package scripts_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mayImport lists the packages of this module that each package may import. A new
// package needs a row.
var mayImport = map[string][]string{
	"schema":                 {"schema/internal/object"},
	"schema/internal/object": nil,
	"schema/sign":            {"schema", "schema/internal/object"},
	"schema/history":         {"schema"},
	"schema/inbox":           {"schema", "schema/internal/object"},
	"schema/control":         {"schema"},
	"schema/routes":          {"schema", "schema/sign", "schema/history", "schema/inbox", "schema/control"},
	"schema/gen":             {"schema", "schema/sign", "schema/history", "schema/inbox", "schema/control", "schema/routes", "agentclient/install"},

	"agentclient":                        {"schema", "schema/control", "schema/history", "schema/inbox", "agentclient/internal/deadline", "schema/sign", "agentclient/socket", "agentclient/policy", "agentclient/internal/pins", "agentclient/internal/reply", "agentclient/internal/transport"},
	"agentclient/internal/deadline":      nil,
	"agentclient/policy":                 {"agentclient/policy/programs", "agentclient/internal/account"},
	"agentclient/policy/programs":        nil,
	"agentclient/internal/account":       nil,
	"agentclient/internal/pins":          {"schema", "schema/sign", "agentclient/internal/account"},
	"agentclient/internal/reply":         nil,
	"agentclient/internal/transcript":    nil,
	"agentclient/internal/transport":     {"schema", "schema/control", "agentclient/socket"},
	"agentclient/internal/fakehub":       {"schema", "schema/sign"},
	"agentclient/hook":                   {"schema", "schema/control", "agentclient/hook/internal/jsonscan", "agentclient/hook/internal/renamed", "agentclient/hook/internal/textform"},
	"agentclient/hook/internal/textform": {"agentclient/hook/internal/jsonscan"},
	"agentclient/hook/internal/renamed":  {"agentclient/hook/internal/jsonscan", "agentclient/hook/internal/textform"},
	"agentclient/hook/internal/jsonscan": nil,
	"agentclient/receipt":                {"schema", "schema/sign"},
	"agentclient/socket":                 {"agentclient/internal/account"},
	"agentclient/install":                {"agentclient/hook", "agentclient/install/jsonc"},
	"agentclient/install/jsonc":          nil,

	// A group of commands imports the shared packages, never another group, except for up.
	"agentclient/internal/cli":            {"schema", "agentclient", "agentclient/policy"},
	"agentclient/internal/cli/report":     {"schema", "schema/control", "agentclient", "agentclient/socket", "agentclient/hook", "agentclient/internal/cli"},
	"agentclient/internal/cli/hookrun":    {"schema/control", "schema/sign", "agentclient/socket", "schema", "agentclient", "agentclient/policy", "agentclient/hook", "agentclient/install", "agentclient/internal/account", "agentclient/internal/cli", "agentclient/internal/cli/report", "agentclient/internal/transcript"},
	"agentclient/internal/cli/service":    {"agentclient/internal/cli"},
	"agentclient/internal/cli/setup":      {"schema", "schema/control", "agentclient", "agentclient/socket", "agentclient/hook", "agentclient/install", "agentclient/internal/cli", "agentclient/internal/cli/report"},
	"agentclient/internal/cli/ask":        {"schema", "agentclient", "agentclient/internal/cli"},
	"agentclient/internal/cli/policycmd":  {"schema/history", "agentclient", "agentclient/policy", "agentclient/internal/cli"},
	"agentclient/internal/cli/freeze":     {"schema", "schema/control", "agentclient/socket", "agentclient/internal/cli"},
	"agentclient/internal/cli/trust":      {"schema", "schema/sign", "agentclient", "agentclient/receipt", "agentclient/internal/cli"},
	"agentclient/internal/cli/mcp":        {"schema", "schema/control", "agentclient", "agentclient/socket", "agentclient/internal/cli"},
	"agentclient/internal/cli/statusline": {"schema", "agentclient/internal/cli", "agentclient/internal/cli/report"},
	"agentclient/internal/cli/desktop":    nil,
	"agentclient/internal/cli/pair":       {"agentclient/internal/cli", "agentclient/internal/cli/desktop"},
	// up starts the service and installs hooks: the first minute in one command.
	"agentclient/internal/cli/up":      {"agentclient/internal/cli", "agentclient/internal/cli/desktop", "agentclient/internal/cli/service", "agentclient/internal/cli/setup"},
	"agentclient/internal/cli/clitest": {"schema", "agentclient/internal/account", "agentclient/internal/cli", "agentclient/internal/fakehub"}, // tests only
	"agentclient/cmd/hookback": {
		"agentclient/internal/cli", "agentclient/internal/cli/hookrun", "agentclient/internal/cli/service", "agentclient/internal/cli/setup", "agentclient/internal/cli/ask",
		"agentclient/internal/cli/policycmd", "agentclient/internal/cli/freeze", "agentclient/internal/cli/trust", "agentclient/internal/cli/mcp", "agentclient/internal/cli/pair", "agentclient/internal/cli/statusline", "agentclient/internal/cli/up",
	},

	"server/internal/filter":         {"schema"},
	"server/internal/identity":       {"schema"},
	"server/internal/store":          {"schema", "schema/history", "schema/inbox", "schema/control", "server/internal/bus", "server/internal/feed", "server/internal/filter", "server/internal/identity"},
	"server/internal/store/sqlite":   {"schema/history", "schema/inbox", "schema/control", "schema", "schema/sign", "server/internal/feed", "server/internal/filter", "server/internal/identity", "server/internal/store", "server/internal/store/grams", "server/internal/store/kit"}, // filters are evaluated while rows are read
	"server/internal/store/postgres": {"schema/history", "schema/inbox", "schema/control", "schema", "schema/sign", "server/internal/bus", "server/internal/feed", "server/internal/filter", "server/internal/identity", "server/internal/store", "server/internal/store/grams", "server/internal/store/kit"},
	"server/internal/pgtest":         nil, // tests only
	"server/internal/bus":            {"server/internal/feed"},
	"server/internal/storetest":      {"server/internal/pgtest", "server/internal/store", "server/internal/store/postgres", "server/internal/store/sqlite"},
	"server/internal/feed":           nil,
	"server/internal/redact":         {"schema"},
	"server/internal/risk":           {"schema", "agentclient/policy/programs", "server/internal/risk/call", "server/internal/risk/oversight", "server/internal/risk/paths", "server/internal/risk/shell"},
	"server/internal/intent":         {"schema", "server/internal/risk/call", "server/internal/risk/paths"},
	"server/internal/risk/call":      {"agentclient/policy/programs", "server/internal/risk/paths", "server/internal/risk/shell"},
	"server/internal/risk/oversight": {"schema", "schema/routes", "server/internal/risk/paths"},
	"server/internal/risk/paths":     {"server/internal/risk/shell"},
	"server/internal/risk/shell":     nil,
	"server/internal/peer":           {"schema"},
	"server/internal/auth":           {"schema", "schema/sign", "server/internal/auth/attempts", "server/internal/auth/names", "server/internal/feed", "server/internal/flows", "server/internal/store"},
	"server/internal/auth/attempts":  {"schema"},
	"server/internal/auth/names":     nil,
	"server/internal/reload":         nil,
	"server/internal/hub/quota":      {"server/internal/store"},
	"server/internal/flows":          {"schema", "server/internal/identity", "server/internal/store"},
	"server/internal/rules":          {"schema", "server/internal/risk/call", "agentclient/policy", "agentclient/policy/programs"},
	"server/internal/netguard":       nil,
	"server/internal/notify":         {"schema", "schema/control", "schema/sign", "server/internal/feed", "server/internal/flows", "server/internal/intent", "server/internal/store", "server/internal/auth", "server/internal/netguard", "server/internal/notify/buttons", "server/internal/notify/chat", "server/internal/notify/slack", "server/internal/notify/telegram"},
	// The chat services in which people answer; package notify sends by them.
	"server/internal/notify/buttons":    {"schema", "server/internal/question", "server/internal/risk", "server/internal/store"},
	"server/internal/notify/chat":       {"schema", "server/internal/auth", "server/internal/feed", "server/internal/flows", "server/internal/notify/buttons", "server/internal/store"},
	"server/internal/notify/slack":      {"server/internal/feed", "server/internal/notify/buttons", "server/internal/notify/chat", "server/internal/store"},
	"server/internal/notify/telegram":   {"server/internal/feed", "server/internal/notify/buttons", "server/internal/notify/chat", "server/internal/store"},
	"server/internal/notify/notifytest": {"schema", "server/internal/auth", "server/internal/feed", "server/internal/flows", "server/internal/hub", "server/internal/notify/buttons", "server/internal/notify/chat", "server/internal/store", "server/internal/storetest"}, // tests only
	"server/internal/mcp":               {"schema", "schema/inbox", "agentclient/hook", "server/internal/hub", "server/internal/query", "server/internal/sessions", "server/internal/auth", "server/internal/store", "server/internal/filter"},
	"server/internal/delivery":          {"schema", "server/internal/feed", "server/internal/store", "server/internal/netguard"},

	"server/internal/store/grams":           nil,
	"server/internal/store/kit":             {"schema", "schema/control", "schema/inbox", "schema/sign", "server/internal/feed", "server/internal/filter", "server/internal/store", "server/internal/store/grams"},
	"server/internal/storetest/conformance": {"schema", "schema/history", "schema/inbox", "schema/control", "schema/sign", "server/internal/filter", "server/internal/feed", "server/internal/store"},

	"server/internal/sessions/digest": {"schema", "schema/history", "schema/inbox", "schema/control"},
	"server/internal/sessions/otlp":   {"schema"},
	"server/internal/question":        {"schema", "schema/control", "schema/sign", "server/internal/intent", "server/internal/store", "server/internal/identity", "server/internal/peer", "server/internal/risk"},
	"server/internal/query":           {"schema", "schema/history", "schema/inbox", "schema/control", "schema/sign", "server/internal/store", "server/internal/feed", "server/internal/auth", "server/internal/question", "server/internal/sessions/digest"},
	"server/internal/sessions":        {"schema", "schema/history", "schema/inbox", "schema/control", "server/internal/store", "server/internal/feed", "server/internal/filter", "server/internal/intent", "server/internal/query", "server/internal/sessions/digest"},
	"server/internal/hub/rawevent":    {"schema"},
	"server/internal/hub/backtest":    {"schema", "schema/history", "server/internal/hub/rulecall", "server/internal/question", "server/internal/rules", "server/internal/store"},
	"server/internal/hub/rulecall":    {"schema", "schema/control", "server/internal/question", "server/internal/rules", "server/internal/store"},
	"server/internal/hub/lifeline":    {"schema", "server/internal/store"},
	"server/internal/hub": {"server/internal/hub/lifeline", "server/internal/hub/rawevent", "server/internal/hub/backtest", "server/internal/hub/rulecall", "schema/control", "schema/history",
		"schema", "schema/sign", "server/internal/question", "server/internal/store", "server/internal/feed", "server/internal/redact", "server/internal/peer",
		"server/internal/risk",
		"server/internal/query", "server/internal/sessions/otlp", "server/internal/auth", "server/internal/rules", "server/internal/hub/quota",
	},
	"server/internal/reach":               {"schema", "schema/control", "schema/sign", "server/internal/feed", "server/internal/netguard", "server/internal/store"},
	"server/internal/reach/qrcode":        nil,
	"server/internal/testagent":           {"schema/control", "schema", "schema/sign", "agentclient", "agentclient/policy", "server/internal/feed", "server/internal/flows", "server/internal/store"},
	"server/internal/importer":            {"schema", "schema/history", "agentclient", "server/internal/intent"},
	"server/internal/now":                 {"schema", "schema/history", "server/internal/auth", "server/internal/intent", "server/internal/query", "server/internal/sessions", "server/internal/sessions/digest", "server/internal/store"},
	"server/internal/alerts":              {"schema", "schema/control", "server/internal/feed", "server/internal/sessions/digest", "server/internal/store"},
	"server/internal/traces":              {"schema", "server/internal/feed", "server/internal/netguard", "server/internal/sessions/digest", "server/internal/store"},
	"server/internal/safety":              {"schema/control", "server/internal/feed", "server/internal/sessions/digest", "server/internal/store"},
	"server/internal/requestdefaults":     {"schema", "schema/control", "server/internal/question", "server/internal/risk/call", "server/internal/store"},
	"server/internal/ratings":             {"agentclient/policy", "server/internal/filter", "schema", "schema/control", "schema/history", "server/internal/feed", "server/internal/store", "server/internal/risk", "server/internal/risk/call", "server/internal/sessions/digest"},
	"server/internal/httpapi/middleware":  {"schema", "schema/routes", "agentclient/socket", "server/internal/peer", "server/internal/feed"},
	"server/internal/studio":              {"agentclient/policy", "schema", "schema/control", "schema/history", "server/internal/filter", "server/internal/intent", "server/internal/ratings", "server/internal/sessions/digest", "server/internal/store"},
	"server/internal/httpapi/stream":      {"schema", "server/internal/httpapi/middleware", "server/internal/hub", "server/internal/query", "server/internal/auth", "server/internal/feed", "server/internal/store"},
	"server/internal/httpapi/logmetrics":  {"schema", "server/internal/bus", "server/internal/feed", "server/internal/query", "server/internal/store", "server/internal/traces"},
	"server/docs":                         {},
	"server/internal/httpapi/assets":      {"schema", "server/docs", "server/internal/httpapi/middleware"},
	"server/internal/httpapi/held":        {"schema", "schema/control", "agentclient/hook", "server/internal/hub", "server/internal/httpapi/middleware"},
	"server/internal/httpapi/telemetry":   {"schema", "schema/history", "server/internal/httpapi/middleware", "server/internal/hub", "server/internal/sessions/otlp"},
	"server/internal/httpapi/alertapi":    {"schema", "schema/control", "server/internal/alerts", "server/internal/auth"},
	"server/internal/httpapi/policyapi":   {"schema", "schema/history", "server/internal/hub", "server/internal/studio"},
	"server/internal/shares":              {"schema", "schema/control", "schema/history", "server/internal/auth", "server/internal/store"},
	"server/internal/httpapi/shareapi":    {"schema", "schema/control", "schema/history", "server/internal/auth", "server/internal/httpapi/middleware", "server/internal/shares", "server/internal/store"},
	"server/internal/httpapi/defaultsapi": {"schema", "schema/control", "server/internal/auth", "server/internal/requestdefaults"},
	"server/internal/httpapi/claims":      {"schema", "schema/control", "server/internal/auth", "server/internal/feed", "server/internal/httpapi/middleware", "server/internal/question", "server/internal/store"},
	"server/internal/httpapi":             {"server/internal/alerts", "server/internal/bus", "server/internal/shares", "server/internal/httpapi/shareapi", "server/internal/traces", "server/internal/httpapi/alertapi", "server/internal/httpapi/policyapi", "server/internal/httpapi/defaultsapi", "server/internal/requestdefaults", "server/internal/httpapi/claims", "server/internal/httpapi/telemetry", "server/internal/httpapi/held", "server/internal/ratings", "server/internal/studio", "server/internal/reach", "server/internal/reach/qrcode", "server/internal/safety", "server/internal/now", "server/internal/testagent", "server/internal/httpapi/assets", "server/internal/httpapi/logmetrics", "server/internal/httpapi/middleware", "server/internal/httpapi/stream", "schema", "schema/history", "schema/inbox", "schema/control", "schema/sign", "schema/routes", "agentclient/hook", "server/internal/hub", "server/internal/query", "server/internal/sessions", "server/internal/peer", "server/internal/store", "server/internal/feed", "server/internal/filter", "server/internal/auth", "server/internal/notify", "dashboard"},
	"server/internal/app": {
		"schema", "schema/history", "schema/inbox", "schema/control", "agentclient/socket", "dashboard", "server/internal/store", "server/internal/store/postgres", "server/internal/store/sqlite", "server/internal/feed", "server/internal/flows", "server/internal/redact", "server/internal/peer",
		"server/internal/alerts", "server/internal/shares", "server/internal/delivery", "server/internal/hub", "server/internal/importer", "server/internal/query", "server/internal/sessions", "server/internal/httpapi", "server/internal/httpapi/claims", "server/internal/httpapi/stream", "server/internal/auth", "server/internal/notify", "server/internal/mcp", "server/internal/identity", "server/internal/netguard", "server/internal/now", "server/internal/ratings", "server/internal/reach", "server/internal/reload", "server/internal/requestdefaults", "server/internal/safety", "server/internal/studio", "server/internal/testagent", "server/internal/traces",
	},
	"server":                     {"server/internal/app"},
	"server/cmd/hookback-server": {"server/internal/app"},
	"server/hubtest":             {"schema", "server/internal/app", "server/internal/storetest"},

	"dashboard": nil,

	"scripts/architecture": nil,
	"scripts/licenses":     nil,
	"scripts/demo":         {"schema", "schema/control", "agentclient"},
	"scripts/fault":        {"schema", "agentclient", "agentclient/hook"},
	"scripts/bench":        nil,
}

func TestImports_AreAllowed(t *testing.T) {
	t.Parallel()
	packages, err := modulePackages()
	require.NoError(t, err)
	for _, p := range packages {
		if len(p.GoFiles) == 0 {
			continue // tests only
		}
		allowed, known := mayImport[p.short()]
		require.True(t, known, "%s: list its imports in mayImport", p.short())
		for _, i := range p.Imports {
			if short, own := strings.CutPrefix(i, module+"/"); own {
				require.Contains(t, allowed, short, "%s must not import %s", p.short(), short)
			}
		}
	}
}

// TestDependencies_AreBounded limits the direct and indirect dependencies of packages
// that other programs import.
func TestDependencies_AreBounded(t *testing.T) {
	t.Parallel()
	for pattern, allowed := range map[string][]string{
		"./schema":               nil,
		"./server/internal/feed": nil,
		"./agentclient":          {"github.com/coder/websocket"},
		"./agentclient/...":      {"github.com/coder/websocket", "github.com/tailscale/hujson"},
	} {
		deps, err := list("-deps", pattern)
		require.NoError(t, err)
		for _, dep := range deps {
			own := strings.HasPrefix(dep.ImportPath, module+"/schema") || strings.HasPrefix(dep.ImportPath, module+"/"+strings.Trim(pattern, "./"))
			if dep.Standard || own {
				continue
			}
			require.True(t, slices.ContainsFunc(allowed, func(a string) bool { return strings.HasPrefix(dep.ImportPath+"/", a+"/") }),
				"%s reaches %s", pattern, dep.ImportPath)
		}
	}
}

// TestLibraries_HaveOneImporter keeps each large library behind one package and those below it. pgx has
// two: the tests start their own server.
func TestLibraries_HaveOneImporter(t *testing.T) {
	t.Parallel()
	packages, err := modulePackages()
	require.NoError(t, err)
	for library, place := range map[string]string{
		"database/sql":                        "server/internal/store server/internal/storetest",
		"crypto/hkdf":                         "server/internal/identity",
		"modernc.org/sqlite":                  "server/internal/store/sqlite",
		"github.com/pressly/goose":            "server/internal/store",
		"github.com/jackc/pgx":                "server/internal/store/postgres server/internal/pgtest",
		"github.com/gofiber":                  "server/internal/httpapi",
		"github.com/valyala/fasthttp":         "server/internal/httpapi",
		"github.com/fasthttp/websocket":       "server/internal/httpapi",
		"github.com/invopop/jsonschema":       "schema/gen",
		"github.com/santhosh-tekuri":          "nowhere: tests only",
		"github.com/stretchr/testify":         "server/internal/storetest/conformance",
		"go.uber.org/goleak":                  "nowhere: tests only",
		"pgregory.net/rapid":                  "nowhere: tests only",
		"golang.org/x/tools":                  "nowhere: tests only",
		"github.com/prometheus/client_golang": "server/internal/httpapi",
		"github.com/tailscale/hujson":         "agentclient/install",
		"github.com/coreos/go-oidc":           "server/internal/auth",
		"golang.org/x/oauth2":                 "server/internal/auth",
		"github.com/go-webauthn":              "server/internal/auth",
		"github.com/nicholas-fedor/shoutrrr":  "server/internal/notify",
		"github.com/wneessen/go-mail":         "server/internal/notify",
		"github.com/SherClockHolmes":          "server/internal/notify",
		"github.com/modelcontextprotocol":     "server/internal/mcp",
		"github.com/standard-webhooks":        "nowhere: tests only",
		"github.com/emersion":                 "nowhere: tests only",
		"github.com/zitadel":                  "nowhere: tests only",
		"go.opentelemetry.io":                 "nowhere: tests only",
	} {
		for _, p := range packages {
			for _, i := range p.Imports {
				if strings.HasPrefix(i+"/", library+"/") {
					require.True(t, slices.ContainsFunc(strings.Fields(place), func(place string) bool { return strings.HasPrefix(p.short()+"/", place+"/") }), "%s imports %s", p.short(), i)
				}
			}
		}
	}
}

// storeMethods lists the packages that may call each method of store.Store. Methods
// that only read are open to all (nil).
var storeMethods = map[string][]string{
	"Append":         {"server/internal/hub"},
	"Announce":       {"server/internal/app"},
	"Lead":           {"server/internal/app"},
	"ObserveMembers": {"server/internal/app"},
	"ObservePolicy":  {"server/internal/app"},
	"ObserveCurrent": {"server/internal/app"},
	"Self":           nil, "Members": nil, "IsLeader": nil, "IsCurrent": nil, "WasFirst": nil, "Now": nil,
	"AppendAll":       {"server/internal/hub"},
	"Apply":           {"server/internal/hub", "server/internal/delivery"},
	"ApplyProjection": {"server/internal/sessions"},
	"ApplyRatings":    {"server/internal/ratings"},
	"AppendLedger":    {"server/internal/hub", "server/internal/auth", "server/internal/notify"},
	"LeaseDeliveries": {"server/internal/delivery"},
	"Prune":           {"server/internal/app"},
	"RunIndexer":      {"server/internal/app"},
	"Wait":            {"server/internal/app"},
	"SetPublish":      {"server/internal/hub", "server/internal/app"},
	"Close":           {"server/internal/app", "server/internal/notify/notifytest"},
	"ChangePeople":    {"server/internal/auth", "server/internal/notify/notifytest"},
	"People":          {"server/internal/auth"},
	"PeopleVersion":   {"server/internal/auth"},
	"RecordUse":       {"server/internal/auth"},
	"PutFlow":         {"server/internal/flows"},
	"TakeFlow":        {"server/internal/flows"},

	"AlertSettings":             nil,
	"Alerts":                    nil,
	"SetAlertSettings":          {"server/internal/alerts"},
	"OpenAlert":                 {"server/internal/alerts"},
	"CloseAlert":                {"server/internal/alerts"},
	"SetTraceCursor":            {"server/internal/traces"},
	"TraceCursor":               nil,
	"TraceEntries":              nil,
	"CreateShare":               {"server/internal/shares"},
	"RemoveShare":               {"server/internal/shares"},
	"RecordShareOpened":         {"server/internal/shares"},
	"Share":                     {"server/internal/shares"},
	"Shares":                    {"server/internal/shares"},
	"CreateFreeze":              {"server/internal/hub"},
	"LiftFreeze":                {"server/internal/hub"},
	"SetReachSettings":          {"server/internal/reach"},
	"SetSafetySettings":         {"server/internal/safety"},
	"SetRequestDefaults":        {"server/internal/requestdefaults"},
	"ExpireGrants":              {"server/internal/hub"},
	"CreateMessage":             {"server/internal/hub"},
	"WithdrawMessage":           {"server/internal/hub"},
	"EndMessages":               {"server/internal/hub"},
	"CreateRule":                {"server/internal/hub"},
	"RevokeRule":                {"server/internal/hub"},
	"EndRules":                  {"server/internal/hub"},
	"ShiftRules":                {"server/internal/hub"},
	"AddChannel":                {"server/internal/notify"},
	"RemoveChannel":             {"server/internal/notify"},
	"AddNotifications":          {"server/internal/notify"},
	"ClaimNotification":         {"server/internal/notify"},
	"ReleaseNotificationLeases": {"server/internal/notify"},
	"SuppressNotifications":     {"server/internal/notify"},
	"SetNotification":           {"server/internal/notify"},
	"SetNotificationCursor":     {"server/internal/notify"},
	"SetNotificationSettings":   {"server/internal/httpapi"},
	"SetPushKeys":               {"server/internal/notify"},
	"AddPushSubscription":       {"server/internal/notify"},
	"RemovePushSubscription":    {"server/internal/notify", "server/internal/httpapi"},
	"UseLink":                   {"server/internal/notify", "server/internal/notify/chat"},
	"SetChatOffset":             {"server/internal/notify/telegram"},
	"LinkChatAccount":           {"server/internal/notify/chat"},
	"UnlinkChatAccount":         {"server/internal/httpapi"},
	"AddChatMessage":            {"server/internal/notify/chat"},
	"SettleChatMessage":         {"server/internal/notify/chat"},

	"ChatOffset": nil, "ChatAccount": nil, "ChatAccounts": nil, "ChatMessage": nil, "MessagesToSettle": nil,

	"PushSubscriptions": nil, "Channels": nil, "DueNotifications": nil, "IsLinkUsed": nil, "NotificationCursor": nil, "NotificationSettings": nil, "NotificationProgress": nil, "NotificationsOf": nil, "BecameGroupLeader": nil,
	"PushKeys": nil, "PushSubscribers": nil, "QuestionsSince": nil,

	"After": nil, "DueQuestions": nil, "EarlierOutcomes": nil, "Event": nil, "FilterOptions": nil, "Find": nil, "Head": nil, "HubID": nil, "Epoch": nil, "Schema": nil, "HasPosition": nil,
	"Activity": nil, "Spend": nil, "ProjectionCursor": nil, "ProjectionLag": nil, "Pruned": nil, "Decisions": nil, "LogEntries": nil, "PendingCounts": nil, "SessionFacts": nil, "SessionTools": nil,
	"Sessions": nil, "SessionsWithID": nil, "SessionsOf": nil, "ToolTimes": nil,
	"ActiveFreezes": nil, "FreezeOf": nil, "AutomaticFreezes": nil, "SafetySettings": nil, "RequestDefaults": nil, "ReachSettings": nil, "HasGrants": nil, "RatingCursor": nil, "RatingEntries": nil, "OverruledCalls": nil, "OpenCalls": nil, "RiskyCalls": nil, "CallCounts": nil,
	"Identity": {"server/internal/app", "server/internal/flows", "server/internal/hub", "server/internal/query", "server/internal/notify", "server/internal/notify/notifytest", "server/internal/reach"}, "KeyRotations": nil, "LedgerHead": nil, "SignLedgerHead": {"server/internal/app"},
	"HasKey": nil, "Ledger": nil, "Lifelines": nil, "Orphans": nil, "Listeners": nil, "Pending": nil, "PendingInSession": nil, "Question": nil, "Recent": nil, "Search": nil, "Stats": nil,
	"Inbox": nil, "OpenUndoWindows": nil, "InboxCounts": nil, "InboxDays": nil,
	"LiveRules": nil, "Messages": nil, "HasMessages": nil, "OpenMessages": nil, "HasWaitingMessages": nil, "GroupMembers": nil, "Questions": nil, "Rules": nil,
}

func TestStore_WritersAreAllowed(t *testing.T) {
	t.Parallel()
	store := module + "/server/internal/store"
	packages, err := list("-export", "-deps", "./server/...")
	require.NoError(t, err)
	exports := map[string]string{}
	for _, p := range packages {
		exports[p.ImportPath] = p.Export
	}
	fset := token.NewFileSet()
	from := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })

	requireAllMethodsKnown(t, from, store)
	for _, p := range packages {
		if p.Standard || strings.HasPrefix(p.ImportPath, store) || !slices.Contains(p.Imports, store) { // the engines and their tests
			continue
		}
		for id, object := range uses(t, fset, from, p) {
			method, ok := object.(*types.Func)
			if ok && method.Pkg() != nil && method.Pkg().Path() == store && method.Signature().Recv() != nil {
				if callers := storeMethods[method.Name()]; callers != nil {
					require.Contains(t, callers, p.short(), "%s calls %s", fset.Position(id.Pos()), method.Name())
				}
			}
		}
	}
}

func requireAllMethodsKnown(t *testing.T, from types.Importer, store string) {
	pkg, err := from.Import(store)
	require.NoError(t, err)
	object := pkg.Scope().Lookup("Store")
	require.NotNil(t, object, "store.Store")
	methods := types.NewMethodSet(object.Type())
	known := map[string]bool{}
	for i := range methods.Len() {
		if name := methods.At(i).Obj().Name(); ast.IsExported(name) {
			require.Contains(t, storeMethods, name, "say in storeMethods who may call store.Store.%s", name)
			known[name] = true
		}
	}
	for name := range storeMethods {
		require.True(t, known[name], "store.Store has no method %s any more", name)
	}
}

// uses resolves every name in a package's files to what it means.
func uses(t *testing.T, fset *token.FileSet, from types.Importer, p goPackage) map[*ast.Ident]types.Object {
	var files []*ast.File
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		files = append(files, file)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: from}
	_, err := config.Check(p.ImportPath, fset, files, info)
	require.NoError(t, err)
	return info.Uses
}
