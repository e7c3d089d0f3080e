package schema_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/schema/inbox"
	"github.com/hookback/hookback/schema/sign"
)

// messageTypes are the types of goldens. A golden of Type[] holds several messages.
var messageTypes = map[string]reflect.Type{
	"RPC":             reflect.TypeFor[schema.RPC](),
	"Event":           reflect.TypeFor[schema.Event](),
	"HumanInTheLoop":  reflect.TypeFor[schema.HumanInTheLoop](),
	"Status":          reflect.TypeFor[schema.Status](),
	"Response":        reflect.TypeFor[schema.Response](),
	"Answer":          reflect.TypeFor[schema.Answer](),
	"Ack":             reflect.TypeFor[schema.Ack](),
	"Cancel":          reflect.TypeFor[schema.Cancel](),
	"Frame":           reflect.TypeFor[schema.Frame](),
	"Hello":           reflect.TypeFor[schema.Hello](),
	"StatusChange":    reflect.TypeFor[schema.StatusChange](),
	"FilterOptions":   reflect.TypeFor[schema.FilterOptions](),
	"BatchResult":     reflect.TypeFor[schema.BatchResult](),
	"Health":          reflect.TypeFor[schema.Health](),
	"HubKey":          reflect.TypeFor[sign.HubKey](),
	"Receipt":         reflect.TypeFor[sign.Receipt](),
	"Envelope":        reflect.TypeFor[schema.Envelope](),
	"Problem":         reflect.TypeFor[schema.Problem](),
	"Approvals":       reflect.TypeFor[schema.Approvals](),
	"ViewingMessage":  reflect.TypeFor[schema.ViewingMessage](),
	"Presence":        reflect.TypeFor[schema.Presence](),
	"SearchResult":    reflect.TypeFor[history.SearchResult](),
	"QuestionContext": reflect.TypeFor[history.QuestionContext](),
	"SessionPage":     reflect.TypeFor[history.SessionPage](),
	"SessionDetail":   reflect.TypeFor[history.SessionDetail](),
	"Overview":        reflect.TypeFor[history.Overview](),
	"SpendReport":     reflect.TypeFor[history.SpendReport](), "NowReport": reflect.TypeFor[history.NowReport](),
	"Report":     reflect.TypeFor[history.Report](),
	"RiskyCalls": reflect.TypeFor[history.RiskyCalls](), "PolicyLine": reflect.TypeFor[history.PolicyLine](),
	"PolicyList": reflect.TypeFor[history.PolicyList](), "PolicyReport": reflect.TypeFor[control.PolicyReport](),
	"ReplayDraft": reflect.TypeFor[history.ReplayDraft](), "Replay": reflect.TypeFor[history.Replay](),
	"AutomaticPage":   reflect.TypeFor[history.AutomaticPage](),
	"ImportedSession": reflect.TypeFor[history.ImportedSession](),
	"SessionFiles":    reflect.TypeFor[history.SessionFiles](),
	"OTLPResponse":    reflect.TypeFor[schema.OTLPResponse](),
	"Control":         reflect.TypeFor[schema.Control](),
	"Extend":          reflect.TypeFor[schema.Extend](),
	"Me":              reflect.TypeFor[schema.Me](),
	"Person":          reflect.TypeFor[schema.Person](),
	"SignIn":          reflect.TypeFor[schema.SignIn](),
	"Token":           reflect.TypeFor[schema.Token](),
	"Rule":            reflect.TypeFor[schema.Rule](),
	"RuleDraft":       reflect.TypeFor[schema.RuleDraft](),
	"RulePreview":     reflect.TypeFor[schema.RulePreview](),
	"LedgerEntry":     reflect.TypeFor[sign.LedgerEntry](),
	"HitlRequest":     reflect.TypeFor[inbox.HitlRequest](),
	"HitlPage":        reflect.TypeFor[inbox.HitlPage](),
	"HitlVote":        reflect.TypeFor[inbox.HitlVote](),
	"HitlCancel":      reflect.TypeFor[inbox.HitlCancel](),
	"HitlStats":       reflect.TypeFor[inbox.HitlStats](),
	"Approval":        reflect.TypeFor[inbox.Approval](),
	"ApproveCall":     reflect.TypeFor[inbox.ApproveCall](),
	"RejectCall":      reflect.TypeFor[inbox.RejectCall](),
	"AgentApproval":   reflect.TypeFor[inbox.AgentApproval](),

	"Message":         reflect.TypeFor[control.Message](),
	"MessageDraft":    reflect.TypeFor[control.MessageDraft](),
	"MessagesChanged": reflect.TypeFor[control.MessagesChanged](),
	"WaitStatus":      reflect.TypeFor[control.WaitStatus](),
	"Freeze":          reflect.TypeFor[control.Freeze](),
	"FreezeDraft":     reflect.TypeFor[control.FreezeDraft](),
	"FreezeList":      reflect.TypeFor[control.FreezeList](),
	"Alert":           reflect.TypeFor[control.Alert](),
	"AlertList":       reflect.TypeFor[control.AlertList](),
	"MachineReport":   reflect.TypeFor[control.MachineReport](),
	"CoverageList":    reflect.TypeFor[control.CoverageList](),
	"AlertRule":       reflect.TypeFor[control.AlertRule](),
	"AlertRuleList":   reflect.TypeFor[control.AlertRuleList](),
	"Share":           reflect.TypeFor[control.Share](),
	"ShareDraft":      reflect.TypeFor[control.ShareDraft](),
	"SharedSession":   reflect.TypeFor[control.SharedSession](),
	"TestRequest":     reflect.TypeFor[schema.TestRequest](),
	"TestTicket":      reflect.TypeFor[control.TestTicket](),
	"TestDenial":      reflect.TypeFor[control.TestDenial](),
	"Safety":          reflect.TypeFor[control.Safety](),
	"Reach":           reflect.TypeFor[control.Reach](),
	"ReachSettings":   reflect.TypeFor[control.ReachSettings](),
	"PairingCode":     reflect.TypeFor[control.PairingCode](),
	"SafetySettings":  reflect.TypeFor[control.SafetySettings](),
	"RequestDefaults": reflect.TypeFor[control.RequestDefaults](),

	"Channel":              reflect.TypeFor[schema.Channel](),
	"ChannelDraft":         reflect.TypeFor[schema.ChannelDraft](),
	"ChannelFilter":        reflect.TypeFor[schema.ChannelFilter](),
	"ChannelTestResult":    reflect.TypeFor[schema.ChannelTestResult](),
	"ChatAccounts":         reflect.TypeFor[schema.ChatAccounts](),
	"ChatCode":             reflect.TypeFor[schema.ChatCode](),
	"NotificationSettings": reflect.TypeFor[schema.NotificationSettings](),

	"CallReport":       reflect.TypeFor[schema.CallReport](),
	"SignInRequest":    reflect.TypeFor[schema.SignInRequest](),
	"SignInResult":     reflect.TypeFor[schema.SignInResult](),
	"LockState":        reflect.TypeFor[schema.LockState](),
	"PushKey":          reflect.TypeFor[schema.PushKey](),
	"PushSubscription": reflect.TypeFor[schema.PushSubscription](),
	"PushMessage":      reflect.TypeFor[schema.PushMessage](),
	"Link":             reflect.TypeFor[schema.Link](),
	"LinkPreview":      reflect.TypeFor[schema.LinkPreview](),
	"LinkVote":         reflect.TypeFor[schema.LinkVote](),
	"PersonDraft":      reflect.TypeFor[schema.PersonDraft](),
	"TokenDraft":       reflect.TypeFor[schema.TokenDraft](),
	"Passkey":          reflect.TypeFor[schema.Passkey](),
	"PasskeyDraft":     reflect.TypeFor[schema.PasskeyDraft](),
	"CredentialAction": reflect.TypeFor[schema.CredentialAction](),
	"Confirmation":     reflect.TypeFor[schema.Confirmation](),
	"PasskeyOptions":   reflect.TypeFor[schema.PasskeyOptions](),
	"ChallengeRequest": reflect.TypeFor[schema.ChallengeRequest](),
}

// frameTypes are the types of a frame's data.
var frameTypes = map[schema.FrameType]reflect.Type{
	schema.Initial:     reflect.TypeFor[[]schema.Event](),
	schema.EventFrame:  reflect.TypeFor[schema.Event](),
	schema.HelloFrame:  reflect.TypeFor[schema.Hello](),
	schema.StatusFrame: reflect.TypeFor[schema.StatusChange](),
	schema.Resync:      reflect.TypeFor[schema.Hello](),

	schema.PresenceFrame:  reflect.TypeFor[schema.Presence](),
	schema.MessageFrame:   reflect.TypeFor[control.MessagesChanged](),
	schema.AlertFrame:     reflect.TypeFor[[]control.Alert](),
	schema.AllowanceFrame: reflect.TypeFor[[]schema.Rule](),
	schema.HeartbeatFrame: reflect.TypeFor[schema.Heartbeat](),
	schema.FreezeFrame:    reflect.TypeFor[[]control.Freeze](),
}

// golden is one file of testdata, version.Type.label.json. If encoding the decoded message yields a
// different form, that form is in version.Type.label.echo.json.
type golden struct {
	name     string
	typeName string
	array    bool
	text     []byte
	echo     []byte
}

func goldens(t testing.TB) []golden {
	paths, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	files := map[string][]byte{}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		files[strings.TrimSuffix(filepath.Base(path), ".json")] = content
	}
	var all []golden
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(name, ".echo") {
			require.Contains(t, files, strings.TrimSuffix(name, ".echo"), "echo without its golden")
			continue
		}
		parts := strings.Split(name, ".")
		require.GreaterOrEqual(t, len(parts), 3, "%s: file name must be version.Type.label.json", name)
		typeName, array := strings.CutSuffix(parts[1], "[]")
		require.Contains(t, messageTypes, typeName, name)
		echo := files[name]
		if e, ok := files[name+".echo"]; ok {
			echo = e
		}
		all = append(all, golden{name, typeName, array, files[name], echo})
	}
	require.NotEmpty(t, all)
	return all
}

// decode decodes text strictly into a new value of the golden's type.
func (g golden) decode(t testing.TB, text []byte) any {
	into := messageTypes[g.typeName]
	if g.array {
		into = reflect.SliceOf(into)
	}
	v := reflect.New(into)
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(v.Interface()))
	return v.Elem().Interface()
}

func TestGoldens_RoundTrip(t *testing.T) {
	t.Parallel()
	for _, g := range goldens(t) {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			first, err := json.Marshal(g.decode(t, g.text))
			require.NoError(t, err)
			if !strings.HasSuffix(g.name, ".shortened") { // omitted members come back empty
				require.JSONEq(t, string(g.echo), string(first))
			}
			second, err := json.Marshal(g.decode(t, first))
			require.NoError(t, err)
			require.Equal(t, string(first), string(second), "encoding is stable")
		})
	}
}

func TestGoldens_PassValidation(t *testing.T) {
	t.Parallel()
	for _, g := range goldens(t) {
		var err error
		switch v := g.decode(t, g.text).(type) {
		case schema.Event:
			err = v.Validate()
			require.Equal(t, strings.HasSuffix(g.name, "unknown-members"), v.Extra != nil, "%s: unknown member", g.name)
		case []schema.Event:
			for _, e := range v {
				require.NoError(t, e.Validate(), g.name)
			}
		case schema.HumanInTheLoop:
			err = v.Validate()
			require.Equal(t, strings.HasSuffix(g.name, "unknown-members"), v.Extra != nil, g.name)
		}
		require.NoError(t, err, g.name)
	}
}

// TestGoldens_MatchJSONSchema validates the goldens without the Go types.
func TestGoldens_MatchJSONSchema(t *testing.T) {
	t.Parallel()
	validators := compileValidators(t)
	for _, g := range goldens(t) {
		for _, text := range [][]byte{g.text, g.echo} {
			for _, message := range g.instances(t, text) {
				err := validators[g.typeName].Validate(message)
				if strings.HasSuffix(g.name, ".shortened") {
					require.ErrorContains(t, err, "hook_event_type", g.name)
					require.Equal(t, 1, strings.Count(err.Error(), "\n- at"), "%s: only the omitted members: %v", g.name, err)
					continue
				}
				require.NoError(t, err, g.name)
			}
		}
	}
}

func (g golden) instances(t testing.TB, text []byte) []any {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	if g.array {
		return v.([]any)
	}
	return []any{v}
}

// compileValidators returns a validator for every type of the generated schema.
func compileValidators(t testing.TB) map[string]*jsonschema.Schema {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema.JSONSchema))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("hub.schema.json", doc))
	validators := map[string]*jsonschema.Schema{}
	for name := range messageTypes {
		validators[name], err = c.Compile("hub.schema.json#/$defs/" + name)
		require.NoError(t, err)
	}
	return validators
}

// TestGoldens_CoverEveryMember requires a golden for every wire field.
func TestGoldens_CoverEveryMember(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, g := range goldens(t) {
		v := g.decode(t, g.text)
		recordFields(seen, reflect.ValueOf(v))
		frames, ok := v.([]schema.Frame)
		if f, one := v.(schema.Frame); one {
			frames, ok = []schema.Frame{f}, true
		}
		for i := 0; ok && i < len(frames); i++ {
			require.Contains(t, frameTypes, frames[i].Type, g.name)
			data := reflect.New(frameTypes[frames[i].Type])
			require.NoError(t, json.Unmarshal(frames[i].Data, data.Interface()), g.name)
			recordFields(seen, data.Elem())
		}
	}
	for name, typ := range messageTypes {
		require.Contains(t, seen, name)
		for i := range typ.NumField() {
			require.Contains(t, seen, name+"."+typ.Field(i).Name)
		}
	}
	for _, typ := range []reflect.Type{
		reflect.TypeFor[schema.ToolCall](), reflect.TypeFor[schema.Consequence](), reflect.TypeFor[schema.FormQuestion](), reflect.TypeFor[schema.Option](),
		reflect.TypeFor[schema.Context](), reflect.TypeFor[schema.Recipients](), reflect.TypeFor[schema.Responder](),
		reflect.TypeFor[schema.Vote](), reflect.TypeFor[schema.Execution](),
		reflect.TypeFor[schema.Delivery](),
	} {
		for i := range typ.NumField() {
			require.Contains(t, seen, typ.Name()+"."+typ.Field(i).Name)
		}
	}
}

// recordFields records the types and non-zero fields in v, recursively.
func recordFields(seen map[string]bool, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			recordFields(seen, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			recordFields(seen, v.Index(i))
		}
	case reflect.Struct:
		seen[v.Type().Name()] = true
		for i := range v.NumField() {
			if !v.Field(i).IsZero() {
				seen[v.Type().Name()+"."+v.Type().Field(i).Name] = true
				recordFields(seen, v.Field(i))
			}
		}
	}
}

// TestJSONSchema_RejectsSameMessagesAsGo compares the two validations of a message.
func TestJSONSchema_RejectsSameMessagesAsGo(t *testing.T) {
	t.Parallel()
	validators := compileValidators(t)
	for _, c := range []struct{ typeName, text string }{
		{"Event", `{"session_id":"s","hook_event_type":"t","payload":{}}`},
		{"Event", `{"source_app":"a","session_id":"s","hook_event_type":"t"}`},
		{"Event", `{"source_app":"a","session_id":"s","hook_event_type":"t","payload":"text"}`},
		{"Event", `{"source_app":7,"session_id":"s","hook_event_type":"t","payload":{}}`},
		{"Event", `{"source_app":"a","session_id":"s","hook_event_type":"t","payload":{},"timestamp":"now"}`},
		{"Event", `{"source_app":"a","session_id":"s","hook_event_type":"t","payload":{},"humanInTheLoop":{"question":"?"}}`},
		{"Event", `[]`},
		{"HumanInTheLoop", `{"question":"?","type":"perhaps"}`},
		{"HumanInTheLoop", `{"question":"?","type":"choice","choices":[1]}`},
		{"HumanInTheLoop", `{"question":"?","type":"permission","requires_response":"yes"}`},
		{"HumanInTheLoop", `{"question":"?","type":"permission","response_websocket_url":5}`},
		{"HumanInTheLoop", `{"question":"?","type":"permission","risk":"enormous"}`},
		{"HumanInTheLoop", `{"question":"?","type":"question","questions":[{"id":"a","question":"?","allow_other":1}]}`},
		{"HumanInTheLoop", `{"question":"?","type":"permission","recipients":{"mode":"nobody"}}`},
		{"Response", `{"permission":"true"}`},
		{"Response", `{"answers":[]}`},
	} {
		message, err := jsonschema.UnmarshalJSON(strings.NewReader(c.text))
		require.NoError(t, err)
		require.Error(t, validators[c.typeName].Validate(message), "the schema accepts %s", c.text)
		require.Error(t, decodeAndValidate(c.typeName, c.text), "Go accepts %s", c.text)
	}
}

func decodeAndValidate(typeName, text string) error {
	v := reflect.New(messageTypes[typeName]).Interface()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		return err
	}
	if checked, ok := v.(interface{ Validate() error }); ok {
		return checked.Validate()
	}
	return nil
}
