package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// secrets are invented. Each is written in two parts, so that secret scanners don't report this
// repository.
var secrets = map[string]string{
	"aws_key":       "AKIA" + "IOSFODNN7EXAMPLE",
	"github_token":  "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a",
	"github_pat":    "github_pat_" + "11ABCDEFG0abcdefghijkl_MNOPQRSTUVWXYZ",
	"gitlab_token":  "glpat-" + "ABCDefgh12345678ijkl",
	"slack_token":   "xoxb-" + "123456789012-abcdefGHIJKL",
	"gitlab_agent":  "glagent-" + "ABCDefgh12345678ijkl",
	"slack_cookie":  "xoxd-" + "abcdefGHIJKL123456",
	"slack_trigger": "hooks.slack.com/" + "triggers/T00000000/123/XXXXXXXXXXXX",
	"google_oauth":  "ya29." + "c.b0AXv0zTabcdefghijklmno",
	"slack_webhook": "hooks.slack.com/" + "services/T00000000/B00000000/XXXXXXXXXXXX",
	"openai":        "sk-" + "proj-abcdEFGH1234ijklMNOP5678",
	"anthropic":     "sk-" + "ant-api03-abcdEFGH1234ijklMNOP5678-xyz_AA",
	"stripe_key":    "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc",
	"google_key":    "AIza" + "SyA1234567890abcdefghijklmnopqrstuv",
	"npm_token":     "npm_" + "abcdefghijklmnopqrstuvwxyz0123456789",
	"vault":         "hvs." + "CAESIabcdefghijklmnopqrstuvwxyz",
	"shopify":       "shpat_" + "abcdef0123456789abcdef0123456789",
	"digitalocean":  "dop_v1_" + "abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789",
	"pypi":          "pypi-" + "AgEIcHlwaS5vcmcCJGFiY2RlZmdoaWprbG1ub3BxcnN0dXZ3eHl6",
	"docker":        "dckr_pat_" + "abcdefghijklmnopqrstuvwxyz",
	"linear":        "lin_api_" + "abcdefghijklmnopqrstuvwxyz0123456789ABCD",
	"grafana":       "glsa_" + "abcdefghijklmnopqrstuvwxyz012345_abcdef01",
	"hugging_face":  "hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH",
	"groq":          "gsk_" + "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOP",
	"age":           "AGE-SECRET-KEY-1" + "QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ",
	"sendgrid":      "SG." + "abcdefghijklmnopqrstuv.abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG",
	"discord":       "discord.com/" + "api/webhooks/123456789012345678/abcdefghijklmnopqrstuvwxyz0123456789",
	"jwt":           "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeKKF2QT4fwpM",
	"private_key":   "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7/x+\nabc=\n-----END RSA " + "PRIVATE KEY-----",
}

func quote(t testing.TB, text string) string {
	t.Helper()
	b, err := json.Marshal(text)
	require.NoError(t, err)
	return string(b)
}

func redacted(t *testing.T, in string) string {
	t.Helper()
	before := strings.Clone(in)
	out, n := New().JSON([]byte(in))
	require.Equal(t, before, in)
	require.True(t, json.Valid(out), "no longer JSON: %s", out)
	require.Equal(t, n > 0, string(out) != in)
	again, _ := New().JSON(out)
	require.Equal(t, string(out), string(again), "a second pass changed the result")
	return string(out)
}

func TestJSON_TokenFormats(t *testing.T) {
	t.Parallel()
	for name, secret := range secrets {
		for _, around := range []string{
			"%s", "x %s y", "echo \"%s\" | cat", "a=%s;b", "/path/%s", "line\n%s\nline", "é%s", `{"k":"%s"}`, `printf 'a\n%s'`, "x -p%s", "h?a%%3D%s",
		} {
			text := fmt.Sprintf(around, secret)
			for _, doc := range []string{
				`{"payload":{"tool_input":{"command":` + quote(t, text) + `}}}`,
				`[` + quote(t, text) + `]`, quote(t, text),
				`{"payload":{` + quote(t, text) + `:1}}`,
				strings.ReplaceAll(quote(t, text), "/", `\/`),
			} {
				out := redacted(t, doc)
				require.NotContains(t, out, quote(t, secret)[1:len(secret)], "%s in %s", name, doc)
				require.Contains(t, out, schema.RedactedPrefix)
			}
		}
	}
}

func TestJSON_SecretMembers(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"password":"hunter2"}`:                  `{"password":"[redacted:password]"}`,
		`{"password" : "a\"b\\" }`:                `{"password" : "[redacted:password]" }`,
		`{"dbPassword":"x","a":1}`:                `{"dbPassword":"[redacted:password]","a":1}`,
		`{"PGPASSWORD":"x"}`:                      `{"PGPASSWORD":"[redacted:password]"}`,
		`{"password":12345678}`:                   `{"password":"[redacted:password]"}`,
		`{"password":-1.5e3}`:                     `{"password":"[redacted:password]"}`,
		`{"password":null,"secret":true}`:         `{"password":null,"secret":true}`,
		`{"password":""}`:                         `{"password":""}`,
		`{"password":["a","b",3]}`:                `{"password":["[redacted:password]","[redacted:password]","[redacted:password]"]}`,
		`{"client_secret":"x"}`:                   `{"client_secret":"[redacted:secret]"}`,
		`{"secretKey":"x"}`:                       `{"secretKey":"[redacted:secret]"}`,
		`{"aws_secret_access_key":"x"}`:           `{"aws_secret_access_key":"[redacted:access_key]"}`,
		`{"access_token":"x"}`:                    `{"access_token":"[redacted:token]"}`,
		`{"token":"x"}`:                           `{"token":"[redacted:token]"}`,
		`{"X-Api-Key":"x"}`:                       `{"X-Api-Key":"[redacted:api_key]"}`,
		`{"apiKey":"x"}`:                          `{"apiKey":"[redacted:api_key]"}`,
		`{"APIKey":"x"}`:                          `{"APIKey":"[redacted:api_key]"}`,
		`{"OPENAI_API_KEY2":"x"}`:                 `{"OPENAI_API_KEY2":"[redacted:api_key]"}`,
		`{"Authorization":"Basic x"}`:             `{"Authorization":"[redacted:authorization]"}`,
		`{"credentials":{"u":"a","n":1}}`:         `{"credentials":{"u":"[redacted:credentials]","n":1}}`,
		`{"set-cookie":"a=b"}`:                    `{"set-cookie":"[redacted:cookie]"}`,
		`{"session":"abc","session_id":"abc"}`:    `{"session":"[redacted:session]","session_id":"abc"}`,
		`{"dsn":"x","connectionString":"y"}`:      `{"dsn":"[redacted:dsn]","connectionString":"[redacted:connection_string]"}`,
		`{"private_key":"x"}`:                     `{"private_key":"[redacted:private_key]"}`,
		`{"signingKey":"x","accountkey":"y"}`:     `{"signingKey":"[redacted:private_key]","accountkey":"[redacted:access_key]"}`,
		`{"pass_word":"x","MYSQL_PWD":"y"}`:       `{"pass_word":"x","MYSQL_PWD":"[redacted:password]"}`,
		`{"a":"\ud83d\ude00 TOKEN=x \ud83d"}`:     `{"a":"\ud83d\ude00 TOKEN=[redacted:token] \ud83d"}`,
		`{"\u0070assword":"x"}`:                   `{"\u0070assword":"[redacted:password]"}`,
		`{"token_count":"1","max_tokens":"2"}`:    `{"token_count":"1","max_tokens":"2"}`,
		`{"tokens_used":5,"tokens":"many"}`:       `{"tokens_used":5,"tokens":"many"}`,
		`{"password":{"type":"string"}}`:          `{"password":{"type":"string"}}`,
		`{"key":"x","keyboard":"y","author":"z"}`: `{"key":"x","keyboard":"y","author":"z"}`,
		`{"secretary":"x","tokenizer":"y"}`:       `{"secretary":"x","tokenizer":"y"}`,
	} {
		require.Equal(t, want, redacted(t, in))
	}
}

func TestJSON_SecretsInStrings(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"DB_SECRET=abc":                                     "DB_SECRET=[redacted:secret]",
		"A=1\nexport API_KEY=abc;def\nB=2":                  "A=1\nexport API_KEY=[redacted:api_key]\nB=2",
		"PGPASSWORD=pw psql -h db":                          "PGPASSWORD=[redacted:password] psql -h db",
		"API_TOKEN=\"a b\" run":                             "API_TOKEN=\"[redacted:token]\" run",
		"MY_TOKEN='it is' x":                                "MY_TOKEN='[redacted:token]' x",
		`{"password": "hunter2", "a": 1}`:                   `{"password": "[redacted:password]", "a": 1}`,
		`{\"password\": \"hunter2\"}`:                       `{\"password\": \"[redacted:password]\"}`,
		`api_key = "abc"`:                                   `api_key = "[redacted:api_key]"`,
		"mysql --password hunter2 -u me":                    "mysql --password [redacted:password] -u me",
		"tool --api-key=abc --x":                            "tool --api-key=[redacted:api_key] --x",
		"https://h/p?token=abc&x=1":                         "https://h/p?token=[redacted:token]&x=1",
		"Server=h;Password=p;":                              "Server=h;Password=[redacted:password];",
		"curl -H 'Authorization: Basic abc' u":              "curl -H 'Authorization: [redacted:authorization]' u",
		"Authorization: Bearer abc\nHost: x":                "Authorization: [redacted:authorization]\nHost: x",
		"curl -H \"X-Api-Key: abc\" u":                      "curl -H \"X-Api-Key: [redacted:api_key]\" u",
		"Cookie: a=b; c=d\nHost: x":                         "Cookie: [redacted:cookie]\nHost: x",
		"use Bearer abcdefgh12345678 now":                   "use Bearer [redacted:bearer] now",
		"postgres://u:pw@h/db":                              "postgres://u:[redacted:url_password]@h/db",
		"git clone https://abcdefghij0123456789@h":          "git clone https://[redacted:url_token]@h",
		"DB_PWD=hunter2 x":                                  "DB_PWD=[redacted:password] x",
		"Server=h;Uid=a;Pwd=hunter2;":                       "Server=h;Uid=a;Pwd=[redacted:password]",
		"tailscale up --auth-key=abc":                       "tailscale up --auth-key=[redacted:api_key]",
		"aws x --secret-string abc":                         "aws x --secret-string [redacted:secret]",
		"Proxy-Authorization: Basic abc":                    "Proxy-Authorization: [redacted:authorization]",
		"password: P@ssw0rd123":                             "password: [redacted:password]",
		"api_key: Zq8xKd93mNv72LpQ":                         "api_key: [redacted:api_key]",
		"password: aHVudGVyMg==":                            "password: [redacted:password]",
		"- name: DB_PASSWORD\n  value: hunter":              "- name: DB_PASSWORD\n  value: [redacted:password]",
		`{"name":"DB_PASSWORD","value":"a b"}`:              `{"name":"DB_PASSWORD","value":"[redacted:password]"}`,
		"openssl rsa -passin 'pass:hunter2' -in x":          "openssl rsa -passin 'pass:[redacted:password]' -in x",
		"ConvertTo-SecureString 'hunter2' -Force":           "ConvertTo-SecureString '[redacted:password]' -Force",
		"echo hunter2 | docker login -u a --password-stdin": "echo [redacted:password] | docker login -u a --password-stdin",
		"requests.get(u, auth=('a', 'hunter2'))":            "requests.get(u, auth=('a', '[redacted:password]'))",
		"HTTPBasicAuth(\"a\", \"hunter2\")":                 "HTTPBasicAuth(\"a\", \"[redacted:password]\")",
		"h/c?sig=abcdefghij0123456789%3D":                   "h/c?sig=[redacted:token]",
		"h?X-Amz-Signature=abcdefghij0123456789":            "h?X-Amz-Signature=[redacted:token]",
		"os.Setenv(\"API_KEY\", \"hunter2\")":               "os.Setenv(\"API_KEY\", \"[redacted:secret]\")",
		"fly secrets set STRIPE=hunter2":                    "fly secrets set STRIPE=[redacted:secret]",
		"fly secrets set -a app STRIPE=hunter2":             "fly secrets set -a app STRIPE=[redacted:secret]",
		"doppler secrets set STRIPE hunter2":                "doppler secrets set STRIPE [redacted:secret]",
		"- name: DB_PASSWORD\n  value: hunter\n":            "- name: DB_PASSWORD\n  value: [redacted:password]\n",
		"openssl cmp -newkeypass pass:x1 -otherpass pass:y": "openssl cmp -newkeypass pass:[redacted:password] -otherpass pass:[redacted:password]",
		"h/c?sv=1&sig=abcdefghij0123456789%3D":              "h/c?sv=1&sig=[redacted:token]",
		"OLD_PASS=hunter2 ./x":                              "OLD_PASS=[redacted:password] ./x",
		"MYSQL_PWD=/s3cr3t mysql":                           "MYSQL_PWD=[redacted:password] mysql",
		"MYSQLPWD=hunter2":                                  "MYSQLPWD=[redacted:password]",
		"openssl kdf -keylen 32 -kdfopt pass:hunter2 x":     "openssl kdf -keylen 32 -kdfopt pass:[redacted:password] x",
		"openssl pkeyutl -pkeyopt pass:hunter2":             "openssl pkeyutl -pkeyopt pass:[redacted:password]",
		"- -passin\n- pass:hunter2":                         "- -passin\n- pass:[redacted:password]",
		"fly secrets set -c ./fly.toml KEY=hunter2":         "fly secrets set -c ./fly.toml KEY=[redacted:secret]",
		"fly secrets set \"STRIPE=hunter2\"":                "fly secrets set \"STRIPE=[redacted:secret]\"",
		`{ name: "DB_PASSWORD", value: "hunter2" }`:         `{ name: "DB_PASSWORD", value: "[redacted:password]" }`,
		"set --export DB_PASSWORD hunter2":                  "set --export DB_PASSWORD [redacted:secret]",
		"IDENTIFIED WITH x BY 'hunter2'":                    "IDENTIFIED WITH x BY '[redacted:password]'",
	} {
		require.Equal(t, quote(t, want), redacted(t, quote(t, in)))
	}
}

// Text that a person needs for a decision must stay readable.
func TestJSON_KeepsHarmlessText(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"", "the secret is out: tell nobody", "a password is required", "use a bearer token here",
		"password: string", "token := next()", "token = lexer.next", "password=password", "if token == nil {",
		"PASSWORD=$PW", "TOKEN=${TOKEN}", `api_key="$KEY"`, "API_KEY=<your key>", "TOKEN=$(cat f)", "secret=None",
		"postgres://u:$PW@h/db", "postgres://user@host/db", "https://example.org/a@b", "mailto:a@b.c", "ws://127.0.0.1:5/x",
		"task-runner-with-a-long-name-1234567890", "risk-level-1-of-a-very-long-word", "sk-learn", "npm_config_registry=x",
		"-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----", "eyJust a word", "keyJohn.eyJ.x", "ghp_short", "AKIA",
		"let a=1;pwd=require('child_process').exec(x)", "a;pwd=eval(x)",
		"fly secrets set ; ./evil.sh", "fly secrets set && ./evil.sh", "fly secrets set | sh evil.sh", "fly secrets set -a ; sh evil.sh",
		"echo secrets set & ./evil.sh", "secrets set sh evil.sh", "fly secrets set A=;./evil.sh", "fly secrets set A= ./evil.sh",
		`{ name: "csrf_token", value: computeToken(x) }`, `{name:"token", value: require('child_process').exec('x')}`,
		"function set(token, value: string)", "{\n  name: token,\n  value: computeToken(x)\n}", "api_token\n  value: run(x)\n",
		`{ "name": "token", "value": readToken }`, "name: API_TOKEN\nvalue: ./x run", "verify(sig=compute_signature_of_payload(body))",
		"SIG=/home/dev/shop/scripts/deploy", "cosign verify --signature=build/signatures/release.sig", "BUILD_PWD=/etc make", "BUILD_PWD=./x", "BUILD_PWD=~/x", "cd x;PWD=./y",
		"ConvertTo-SecureString | ./evil", "ConvertTo-SecureString ; ./evil",
		"OLD_PWD=/home/x", "PWD=/x", "echo done | sudo tee x", "echo reboot | sudo -S sh",
		"echo reboot > x; sh x | docker login -u a", "echo reboot | sh -s --password-stdin", "password: String!", "token: OAuth2Token",
		"valueFrom:\n  name: DB_PASSWORD\n  optional: true", "os.Setenv(\"API_KEY\", value)",
		"ConvertTo-SecureString $pw", "auth=(user, password)", "pass:1 fail:0",
		"git log --token", "--password --verbose", "x --token # y", "monkey=1", "session_id=abc", "max_tokens=100", "COUNT=1",
	} {
		require.Equal(t, quote(t, in), redacted(t, quote(t, in)))
	}
}

func TestJSON_KeepsProtocolFields(t *testing.T) {
	t.Parallel()
	tok := secrets["github_token"]
	in := `{"source_app":"T","session_id":"T","hook_event_type":"T","tool_use_id":"T","idempotency_key":"T",
	"payload":{"agent_name":"T","permission_type":"T","session_id":"T"},"humanInTheLoop":{"question":"?","choices":["T","password=x"],
	"responseWebSocketUrl":"ws://127.0.0.1:1/T","listenerKey":"T","toolCall":{"id":"T","name":"n"},
	"questions":[{"id":"T","question":"?","options":[{"label":"T"},{"label":"a"}]}]}}`
	in = strings.ReplaceAll(in, "T", tok)
	require.Equal(t, in, redacted(t, in))

	in = `{"humanInTheLoop":{"response_websocket_url":"ws://localhost:1/T","response_web_socket_url":"T","listener_key":"T"},"label":"T"}`
	want := strings.ReplaceAll(strings.Replace(in, `"label":"T"`, `"label":"[redacted:github_token]"`, 1), "T\"", tok+`"`)
	require.Equal(t, want, redacted(t, strings.ReplaceAll(in, "T\"", tok+`"`)))
}

func TestRedactor_NilReplacesNothing(t *testing.T) {
	t.Parallel()
	in := []byte(`{"password":"a"}`)
	out, n := (*Redactor)(nil).JSON(in)
	require.Equal(t, in, out)
	require.Zero(t, n)
}

func TestJSON_ReturnsUnchangedInput(t *testing.T) {
	t.Parallel()
	for _, in := range []string{cleanEvent, `{"token":true}`, `{"password":"x"`, `{"password":"x`, `]"password":"x"`, strings.Repeat("[", 4000) + `"password"`} {
		b := []byte(in)
		out, n := New().JSON(b)
		require.Same(t, &b[0], &out[0])
		require.Zero(t, n)
	}
}

var placeholders = regexp.MustCompile(`\[redacted:[a-z_]+\]`)

// structure returns the characters of a text that separate words, strings and commands. Those of the
// redacted text must be the same.
func structure(text string) string {
	return strings.Map(func(c rune) rune {
		if strings.ContainsRune(" \n\t\"'`\\;&|<>(){}$\u2028\u00a0\u201d", c) {
			return c
		}
		return -1
	}, placeholders.ReplaceAllString(text, ""))
}

// textStructure is structure without the content of plain strings.
func textStructure(text string) string {
	return structure(plainStrings.ReplaceAllString(placeholders.ReplaceAllString(text, ""), `""`))
}

// lines returns a call with one command line.
func lines(text string) func() []call.Line {
	return func() []call.Line { return []call.Line{{Text: text, Shell: call.POSIX}} }
}

func noLines() []call.Line { return nil }

// TestAsk_HidesNoCommand: whoever approves a command must see everything that runs, and whoever approves
// a file everything that it contains.
func TestAsk_HidesNoCommand(t *testing.T) {
	t.Parallel()
	r := New()
	for in, want := range map[string]string{
		"ls;PASSWORD=hunter2hunter2;./evil.sh":     "ls;PASSWORD=[redacted:password];./evil.sh",
		"PASSWORD=hunter2&&./evil.sh":              "PASSWORD=[redacted:password]&&./evil.sh",
		"PASSWORD=hunter2|./evil.sh":               "PASSWORD=[redacted:password]|./evil.sh",
		"PASSWORD=a$(./evil.sh)":                   "PASSWORD=[redacted:password]$(./evil.sh)",
		"PASSWORD=a`./evil.sh`":                    "PASSWORD=[redacted:password]`./evil.sh`",
		"PASSWORD=a>.git/hooks/x":                  "PASSWORD=[redacted:password]>.git/hooks/x",
		"PASSWORD=\"a$(./evil.sh)\"":               "PASSWORD=\"[redacted:password]$(./evil.sh)\"",
		"PASSWORD='a'./evil.sh":                    "PASSWORD='[redacted:password]'./evil.sh",
		"echo \"PASSWORD=\";./evil.sh;echo \"x\"":  "echo \"PASSWORD=\";./evil.sh;echo \"x\"",
		"A=\"\nPASSWORD=\" ./evil.sh \"x\"":        "A=\"\nPASSWORD=\" ./evil.sh \"x\"",
		"PASSWORD=\"a\n./evil.sh\"":                "PASSWORD=\"[redacted:password]\n./evil.sh\"",
		"tool --token abc;./evil.sh":               "tool --token [redacted:token];./evil.sh",
		"tool --token 5<a 6":                       "tool --token 5<a 6",
		"tool --token=5<a":                         "tool --token=[redacted:token]<a",
		"tool --token=abc&./evil.sh":               "tool --token=[redacted:token]&./evil.sh",
		"curl -H Cookie:a=b; ./evil.sh":            "curl -H Cookie:[redacted:cookie]; ./evil.sh",
		"curl https://u:pw;evil@h":                 "curl https://u:[redacted:url_password];evil@h",
		"print('PASSWORD='); run('x'); print('y')": "print('PASSWORD='); run('x'); print('y')",
		"$PASSWORD=./evil.ps1":                     "$PASSWORD=./evil.ps1",
		"PASSWORD = system 'x'":                    "PASSWORD = system 'x'",
		"PASSWORD=a\u2028run":                      "PASSWORD=[redacted:password]\u2028run",
		"PASSWORD=pässword":                        "PASSWORD=[redacted:password]",
		"env --token= ./evil.sh":                   "env --token= ./evil.sh",
		"env --no-password ./evil.sh":              "env --no-password ./evil.sh",
		"env --token '--evil'":                     "env --token '--evil'",
		"token=`./evil.sh`":                        "token=`./evil.sh`",
		"-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7/x+\n./evil.sh; ls\nMIIEpAIBAAKCAQEA7/x+\nabc=\n-----END PRIVATE KEY-----": "-----BEGIN PRIVATE KEY-----\n[redacted:private_key]\n./evil.sh; ls\n" +
			"[redacted:private_key]\nabc=\n-----END PRIVATE KEY-----",
	} {
		for _, lines := range []func() []call.Line{noLines, lines(in)} {
			out, n := r.Ask([]byte(quote(t, in)), lines)
			require.Equal(t, quote(t, want), string(out))
			require.Equal(t, strings.Count(want, schema.RedactedPrefix), n, in)
		}
	}
}

// TestAsk_HidesStrings: a secret that is the whole content of a string in a command is replaced, with its
// blanks and operators.
func TestAsk_HidesStrings(t *testing.T) {
	t.Parallel()
	r := New()
	for in, want := range map[string]string{
		`PASSWORD="my secret & more" ./deploy`:             `PASSWORD="[redacted:password]" ./deploy`,
		`PASSWORD='a; $(b) "c"' ./deploy`:                  `PASSWORD='[redacted:password]' ./deploy`,
		`echo "$(date)"; x --token "a (b)" --v`:            `echo "$(date)"; x --token "[redacted:token]" --v`,
		`mysql --password='a | b' -e 'x'`:                  `mysql --password='[redacted:password]' -e 'x'`,
		`export API_KEY="two words"`:                       `export API_KEY="[redacted:api_key]"`,
		`curl -H "Cookie: a=b; c=d" -H 'Cookie: a=b; c' u`: `curl -H "Cookie: [redacted:cookie]" -H 'Cookie: [redacted:cookie]' u`,
		`curl -d '{"a": 1, "password": "two words"}' u`:    `curl -d '{"a": 1, "password": "[redacted:password]"}' u`,
		"cat > x <<E\nTOKEN = x\n\"password\": \"a b\",\nE\nTOKEN = x": "" +
			"cat > x <<E\nTOKEN = [redacted:token]\n\"password\": \"[redacted:password]\",\nE\nTOKEN = x",
		`PASSWORD="a $(x) b"`:         `PASSWORD="[redacted:password] $(x) b"`,
		"PASSWORD=\"a `x` b\"":        "PASSWORD=\"[redacted:password] `x` b\"",
		`PASSWORD="a \" b"; ./x "c"`:  `PASSWORD="[redacted:password] \" b"; ./x "c"`,
		`echo 'PASSWORD="'; ./x; '"'`: `echo 'PASSWORD="'; ./x; '"'`,
		`echo a"PASSWORD="; ./x; "b"`: `echo a"PASSWORD="; ./x; "b"`,
		`sh -c 'PASSWORD="; ./x; "'`:  `sh -c 'PASSWORD="[redacted:password]"'`,
		`sh -c "PASSWORD='; ./x; '"`:  `sh -c "PASSWORD='; ./x; '"`,
		`$x PASSWORD="a b"`:           `$x PASSWORD="[redacted:password] b"`,
		"PASSWORD=\"a\u2028b\"":       "PASSWORD=\"[redacted:password]\u2028b\"",
	} {
		out, _ := r.Ask([]byte(quote(t, in)), lines(in))
		require.Equal(t, quote(t, want), string(out))
	}
	for in, want := range map[string]string{
		`$env:TOKEN = "a & b"; ls`: `$env:TOKEN = "[redacted:token]"; ls`,
		"x -Token 'a ‘b'":          "x -Token '[redacted:token] ‘b'",
	} {
		out, _ := r.Ask([]byte(quote(t, in)), func() []call.Line { return []call.Line{{Text: in, Shell: call.PowerShell}} })
		require.Equal(t, quote(t, want), string(out))
	}
}

// TestAsk_HidesStringsOfFiles: in a text of unknown language, a string counts only if no quote before it
// can be read in another way.
func TestAsk_HidesStringsOfFiles(t *testing.T) {
	t.Parallel()
	r := New()
	for in, want := range map[string]string{
		"{\n  \"a\": \"b\",\n  \"password\": \"two words\"\n}": "{\n  \"a\": \"b\",\n  \"password\": \"[redacted:password]\"\n}",
		"A='b'\nPASSWORD=\"my secret & more\"\n":               "A='b'\nPASSWORD=\"[redacted:password]\"\n",
		"[a]\r\n  TOKEN = x  \r\nSECRET = y":                   "[a]\r\n  TOKEN = [redacted:token]  \r\nSECRET = [redacted:secret]",
		"TOKEN = x y":                                          "TOKEN = x y",
		"a TOKEN = x":                                          "a TOKEN = x",
		"A=\"\nPASSWORD=\"; ./x; \"\n\"":                       "A=\"\nPASSWORD=\"; ./x; \"\n\"",
		"echo \\\" x\" PASSWORD=\"; ./x; \"":                   "echo \\\" x\" PASSWORD=\"; ./x; \"",
		"echo \"$(echo \"PASSWORD=\"; ./x; echo \"x\")\"":      "echo \"$(echo \"PASSWORD=\"; ./x; echo \"x\")\"",
		"x = \"#{\"PASSWORD=\"; y; \"z\"}\"":                   "x = \"#{\"PASSWORD=\"; y; \"z\"}\"",
		"/*\nPASSWORD=\"x */ drop; /*\"\n*/":                   "/*\nPASSWORD=\"[redacted:password] */ drop; /*\"\n*/",
		"x = [[\nPASSWORD=\"]] y [[\"\n]]":                     "x = [[\nPASSWORD=\"[redacted:password] y [[\"\n]]",
		"set PASSWORD='a & x'":                                 "set PASSWORD='[redacted:password] & x'",
		"echo ^\" x\" PASSWORD=\"& x &\"":                      "echo ^\" x\" PASSWORD=\"& x &\"",
		"“ PASSWORD=\"; ./x; \"”":                              "“ PASSWORD=\"; ./x; \"”",
		"x=/\"/;y=\" PASSWORD=\"; y; z=\" \"":                  "x=/\"/;y=\" PASSWORD=\"; y; z=\" \"",
		"$env:TOKEN=./x.ps1\n$a.Password=./x":                  "$env:TOKEN=./x.ps1\n$a.Password=./x",
		"curl $URL?token=abc -Dx.password=y":                   "curl $URL?token=[redacted:token] -Dx.password=[redacted:password]",
	} {
		out, _ := r.Ask([]byte(quote(t, in)), noLines)
		require.Equal(t, quote(t, want), string(out))
		again, _ := r.Ask(out, noLines)
		require.Equal(t, string(out), string(again))
	}
}

func TestAsk_RedactsOrdinarySecrets(t *testing.T) {
	t.Parallel()
	r := New()
	for name, secret := range secrets {
		if name == "private_key" {
			secret = strings.Split(secret, "\n")[1]
		}
		for _, around := range []string{"%s", "x %s y", "echo \"%s\" | cat", "a=%s;b", "line\n%s\nline", `{"k":"%s"}`} {
			text := fmt.Sprintf(around, secrets[name])
			out, _ := r.Ask([]byte(`{"payload":{"tool_input":{"command":`+quote(t, text)+`}}}`), lines(text))
			require.NotContains(t, string(out), secret, "%s in %s", name, text)
			again, _ := r.Ask(out, noLines)
			require.Equal(t, string(out), string(again))
		}
	}
	for in, want := range map[string]string{
		"curl -H 'Authorization: Bearer abcdef1234567890abcdef' u": "curl -H 'Authorization: Bearer [redacted:authorization]' u",
		"curl -H \"Authorization: Basic dXNlcjpwYXNz\" u":          "curl -H \"Authorization: Basic [redacted:authorization]\" u",
		"Authorization: abcdef":                                    "Authorization: [redacted:authorization]",
	} {
		got, _ := r.Ask([]byte(quote(t, in)), lines(in))
		require.Equal(t, quote(t, want), string(got))
	}
	for _, in := range []string{ // that differ between a text and a command in nothing
		"[a]\naws_secret_access_key = %s\nb", "+aws_secret_access_key = %s\n b", "-aws_secret_access_key=%s", "aws_secret_access_key: %s",
	} {
		for _, body := range []string{in, "cat > x <<'E'\n" + in + "\nE\n./y"} {
			body = fmt.Sprintf(body, "wJalrXUtnFEMI/K7MDENG/"+"bPxRfiCYEXAMPLEKEY")
			for _, lines := range []func() []call.Line{noLines, lines(body)} {
				out, n := r.Ask([]byte(quote(t, body)), lines)
				require.Equal(t, 1, n, body)
				require.NotContains(t, string(out), "bPxRfiCY", body)
			}
			require.NotContains(t, redacted(t, quote(t, body)), "bPxRfiCY", body)
		}
	}
	for _, code := range []string{
		"token = get_token_of_the_service_version_2", "password: ThisIsTheNameOfAVeryLongTypeV2", "secret = /Users/Dev/Keys2025/of/the/service",
	} {
		require.Equal(t, quote(t, code), redacted(t, quote(t, code)))
	}
	out, _ := r.Ask([]byte(`{"password":"correct horse; battery"}`), noLines)
	require.Equal(t, `{"password":"[redacted:password]"}`, string(out), "an argument is one string")
}

// plainStrings are the strings of a text that a replacement may cover.
var plainStrings = regexp.MustCompile("\"[^\"'`\\\\<>(){}$\n]*\"|'[^\"'`\\\\<>(){}$;&|\n]*'")

// outline returns the commands of a line with their operators, and the numbers of their words.
func outline(read *call.Call) (all []string) {
	runsText := slices.ContainsFunc(read.Commands, func(c call.Command) bool { return c.Before == call.RunBy })
	for _, c := range read.Commands {
		if c.Depth > 0 && runsText {
			continue
		}
		one := fmt.Sprint(c.Before, len(c.Words))
		for _, w := range c.Assignments {
			name, _, _ := strings.Cut(w.Text, "=")
			one += " " + name
		}
		for _, r := range c.Redirects {
			one += " " + r.FD + r.Op
		}
		all = append(all, one)
	}
	return all
}

// FuzzAsk asserts that a redacted command has the same commands, words and operators, and a redacted text
// the same words, strings and operators.
func FuzzAsk(f *testing.F) {
	for _, in := range []string{
		"ls;PASSWORD=hunter2hunter2;./evil.sh", `a --token "x y" 'PASSWORD=a\'b`, "https://u:p|w@h Bearer abcdefgh12345678;x",
		`echo "$(a)"; PASSWORD="a & b" x -H 'Cookie: a; b' -d '{"token": "a b"}' > y`,
		"cat <<E\nTOKEN = x\n\"token\": 'a b'\nE\nx\n", "A = x\nTOKEN = y ",
		`sh -c "TOKEN='a b' x"; TOKEN="a'b; c" y`, `echo \" x" TOKEN="; x; "`, "A='\nTOKEN='; x; '\n'", "{a,\"b c\"}TOKEN='a b'\n",
	} {
		f.Add(in)
	}
	for _, secret := range secrets {
		f.Add("API_KEY=" + secret + ";x --password \"" + secret + "\"")
	}
	r := New()
	f.Fuzz(func(t *testing.T, in string) {
		if !utf8.ValidString(in) || strings.Contains(in, "[redacted") {
			return
		}
		ask := func(in string, lines func() []call.Line) (got string) {
			out, _ := r.Ask([]byte(quote(t, in)), lines)
			require.NoError(t, json.Unmarshal(out, &got))
			return got
		}
		got := ask(in, noLines)
		require.Equal(t, textStructure(in), textStructure(got), "%q became %q", in, got)
		require.Equal(t, got, ask(got, noLines))

		got = ask(in, lines(in))
		before, after := call.ReadLine(in, call.POSIX), call.ReadLine(got, call.POSIX)
		require.Equal(t, strings.Count(in, "\n"), strings.Count(got, "\n"), "%q became %q", in, got)
		switch {
		case len(before.Unread) > 0:
			require.Equal(t, structure(in), structure(got), "%q became %q", in, got)
		case len(after.Unread) > 0:
			require.False(t, call.SameShape(before, after)) // the request says hidden_by_redaction
		default:
			require.Equal(t, outline(before), outline(after), "%q became %q", in, got)
		}
		require.Equal(t, got, ask(got, lines(got)))
	})
}

// A slot number must fit into a byte.
func TestBuildTables_SlotsFitByte(t *testing.T) {
	t.Parallel()
	require.Less(t, len(New().literals), 200)
}

// A body of the maximum size that consists of nothing but prefixes must not take long.
func TestJSON_HostileInput(t *testing.T) {
	t.Parallel()
	r := New()
	for _, piece := range []string{
		"://", "eyJ-", "eyJaaaaaa.", "-----BEGIN PRIVATE KEY-----!", "token-", "token=(", `password=\"`, "sk-", "bearer ", "Authorization: ",
		"password='", "ghp_", "key", "a_token=(", "://u:", "TOKEN = x\n", "TOKEN='a b' ", "Cookie: a ", "<<E\nTOKEN='a b'\nE\n",
	} {
		text := strings.Repeat(piece, (1<<18)/len(piece))
		doc := []byte(`{"a":` + quote(t, text) + `}`)
		out, _ := r.JSON(doc)
		require.True(t, json.Valid(out), piece)
		for _, lines := range []func() []call.Line{noLines, lines(text)} {
			out, _ = r.Ask(doc, lines)
			require.True(t, json.Valid(out), piece)
		}
	}
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(cleanEvent))
	for _, secret := range secrets {
		f.Add([]byte(`{"a":` + quote(f, secret) + `}`))
		f.Add([]byte(`{"a":` + quote(f, "API_KEY="+secret+" --password \"x\" https://a:b@c/d Bearer "+secret) + `}`))
	}
	f.Add([]byte(`"x\n-pAKIA` + `IOSFODNN7EXAMPLE\n-password = x"`))
	f.Add([]byte(`{"password":[{"a":"b"},1],"cookie":{"a":{"b":["c"]}}}`))
	f.Add([]byte(`"\"token\\\": \\\"abc\\\" \u0070assword=x"`))
	r := New()
	f.Fuzz(func(t *testing.T, in []byte) {
		before := bytes.Clone(in)
		out, n := r.JSON(in)
		require.Equal(t, before, in)
		if n == 0 {
			require.Equal(t, in, out)
		}
		if !json.Valid(in) {
			return
		}
		require.True(t, json.Valid(out), "%s became %s", in, out)
		again, _ := r.JSON(out)
		require.Equal(t, string(out), string(again))
		// The prefilter must not miss anything that the walk finds.
		w := walker{r: r, in: in}
		walked, _ := w.redact()
		require.Equal(t, string(walked), string(out))
	})
}

// FuzzJSON_PlantedSecret plants a secret in random text and asserts that it is removed.
func FuzzJSON_PlantedSecret(f *testing.F) {
	f.Add("export X=", " && run", uint8(3))
	f.Add("\n", "\"", uint8(0))
	names := make([]string, 0, len(secrets))
	for _, s := range secrets {
		names = append(names, s)
	}
	r := New()
	f.Fuzz(func(t *testing.T, before, after string, which uint8) {
		secret := names[int(which)%len(names)]
		// Without the spaces it would be part of another word.
		doc, err := json.Marshal(map[string]string{"text": before + " " + secret + " " + after})
		require.NoError(t, err)
		out, _ := r.JSON(doc)
		require.True(t, json.Valid(out))
		require.NotContains(t, string(out), quote(t, secret)[1:len(secret)])
	})
}

const cleanEvent = `{"source_app":"hookback","session_id":"4f2a9c1e-77b3-4d0c-9a51-2f6f3f0c8a11","hook_event_type":"PostToolUse",` +
	`"timestamp":1734189245123,"tool_name":"Bash","tool_use_id":"toolu_01A09q90qw90lq917835lq9","model_name":"claude-sonnet-4-5",` +
	`"payload":{"session_id":"4f2a9c1e-77b3-4d0c-9a51-2f6f3f0c8a11","transcript_path":"/home/dev/.claude/projects/hookback/4f2a9c1e.jsonl",` +
	`"cwd":"/home/dev/hookback","permission_mode":"acceptEdits","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":` +
	`"go test -race ./server/internal/... 2>&1 | tail -n 20","description":"Run the server's tests with the race detector","timeout":120000},` +
	`"tool_response":{"stdout":"ok  \tgithub.com/hookback/hookback/server/internal/feed\t0.412s\nok  \tgithub.com/hookback/hookback/server/` +
	`internal/store\t3.918s\n--- PASS: TestAppend (0.02s)\nPASS\nEverything is fine; see https://example.org/a/b?c=d for the rest of the output",` +
	`"stderr":"","interrupted":false,"isImage":false},"usage":{"input_tokens":1210,"output_tokens":330,"cache_read_input_tokens":20480,` +
	`"max_tokens":8192}},"summary":"Ran the tests of the server packages: all of them pass, the slowest took four seconds."}`

func BenchmarkClean(b *testing.B) {
	r, in := New(), []byte(cleanEvent)
	b.ReportAllocs()
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		r.JSON(in)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(float64(len(in))/1024), "ns/KB")
}

func BenchmarkDense(b *testing.B) {
	var text strings.Builder
	for _, s := range secrets {
		fmt.Fprintf(&text, "export API_KEY=%s\n", s)
	}
	in := []byte(`{"payload":{"command":` + quote(b, text.String()) + `}}`)
	r := New()
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		r.JSON(in)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(float64(len(in))/1024), "ns/KB")
}
