package redact

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Each command has the password s3cretpw, and nothing else of it is replaced.
func TestJSON_SecretOptions(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"curl -u user:s3cretpw https://x", "curl -suuser:s3cretpw https://x", "curl --user=user:s3cretpw x", "curl --proxy-user u:s3cretpw x", "curl -u 'u:s3cretpw' x",
		"mysql -u root -ps3cretpw db", "mysqldump -p's3cretpw' db", "mariadb-dump -ps3cretpw", "mongosh -u x -p s3cretpw", "redis-cli -h x -a s3cretpw PING",
		"sshpass -p s3cretpw ssh h", "sshpass -ps3cretpw ssh h", "docker login -u x -p s3cretpw", "az login --service-principal -u x -p s3cretpw --tenant t",
		"openssl rsa -passin pass:s3cretpw", "unzip -P s3cretpw x", "zip -rP s3cretpw x y", "htpasswd -bc f u s3cretpw", "ldapsearch -x -w s3cretpw -b y",
		"aws configure set aws_secret_access_key s3cretpw", "git config --global user.password s3cretpw", "npm config set //r.example/:_authToken s3cretpw",
		"gh secret set X --body s3cretpw", "kubectl create secret generic x --from-literal=db=s3cretpw", `psql -c "ALTER USER x PASSWORD 's3cretpw'"`,
		"7z a -ps3cretpw x.7z y", "7za x -ps3cretpw x.7z", "http -a user:s3cretpw https://x", "http --auth=user:s3cretpw :80", "DB_PASS=s3cretpw ./run", "export SMTP_PASS='s3cretpw'",
		"<password>s3cretpw</password>", "<server><api_key>s3cretpw</api_key></server>", "curl https://api.telegram.org/bot12345678:AAs3cretpwABCDEFGHIJKLMNOPQRSTUVWXY/getMe",
		"mysql -e \"CREATE USER x IDENTIFIED BY 's3cretpw'\"", "password: s3cretpw\nuser: x", "- token: s3cretpw", `echo "db-password: s3cretpw" > x.yml`,
		"curl -b 'sid=s3cretpw' x", "curl -s -b sid=s3cretpw x", "twine upload -u u -p s3cretpw x", "poetry publish -u u -p s3cretpw", "sqlcmd -S h -U sa -P s3cretpw",
		"smbclient -U u%s3cretpw //h/s", "mysqladmin -u root password 's3cretpw'", "ssh-keygen -N s3cretpw -f k", "ssh-keygen -p -P 's3cretpw' -f k",
		"openssl enc -aes-256-cbc -k s3cretpw -in x", "security add-generic-password -a a -s s -w s3cretpw", "echo 'machine h login u password s3cretpw' >> ~/.netrc",
		"machine h\n  login u\n  password s3cretpw\nmachine g", `<add key="Password" value="s3cretpw" />`, "ngrok config add-authtoken s3cretpw", "cargo login s3cretpw", "vault login s3cretpw",
		"setx DB_TOKEN s3cretpw", "setenv TOKEN s3cretpw", "set -gx TOKEN s3cretpw", `{"auths": {"h": {"auth": "dXNlcjpzs3cretpw=="}}}`, "_auth = dXNlcjpzs3cretpw==",
		"SSHPASS=s3cretpw sshpass -e ssh h", "keytool -storepass s3cretpw -list", "tailscale up --authkey=s3cretpw", "curl -H 'Ocp-Apim-Subscription-Key: s3cretpw' x",
		`python3 -c 'os.environ["TOKEN"]="s3cretpw"'`, `$config['db_password'] = 's3cretpw';`,
	} {
		out := redacted(t, quote(t, command))
		require.NotContains(t, out, "s3cretpw")
		require.Contains(t, out, "[redacted:")
		asked, _ := New().Ask([]byte(quote(t, command)), nil)
		require.Equal(t, out, string(asked))
	}
	for _, command := range []string{
		"curl -u $U:$P x", "curl --user-agent a:b x", "curl -o unzip https://x:80/", "ssh login -p 22", "mysql -p db", "sshpass -p $PW ssh h", "sshpass -f x ssh h",
		"git config --get user.token", "npm config get registry", "echo config the token yes", "gh secret set X -b \"$(cat y)\"", "openssl x -passin env:X",
		"7z a x.7z -r", "git add -a x", "tar -a x:1", "docker run -a stdin x", "<password/>", "<password></password>", "if a.password>b", "BY_PASS=1", "PASS=12 FAIL=3",
		"first_pass = run()", "test: pass=12", "<token>{{ .Token }}</token>", "ratio 12345678:AAB", "password: string", "token: uint64_t", "secret: sha256sum", "token: user_token_v2", "password: next()", "token: 2 x", "password: required,min=8",
		"curl -b cookies.txt x", "curl -B -H a=b x", "ssh-keygen -t ed25519 -N '' -f k", "vault login -method=oidc", "set -x PATH /usr/bin", `{"auth": "authentication"}`, "self._auth = something",
		`<input name="password" value="" />`, `if x["token"] == y`, `x["token"] = os.environ["TOKEN"]`, `v, ok := m["token"]`, "sqlcmd -p 1",
	} {
		require.Equal(t, quote(t, command), redacted(t, quote(t, command)))
	}
}
