package app

import (
	"bytes"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// hubContainer is a hub in a file of server/deploy or scripts/release.
type hubContainer struct {
	image string
	args  []string
	env   map[string]string // without variables of the user and secrets
	grace time.Duration     // between SIGTERM and SIGKILL
}

// parse reads the settings as the container's hub does, with the environment of the image.
func (h *hubContainer) parse(t *testing.T) Config {
	t.Helper()
	known := map[string]bool{"XDG_DATA_HOME": true}
	for _, spec := range flagsOf(new(Config)) {
		known[spec.env()] = true
	}
	for name := range h.env {
		require.True(t, known[name], "no hub reads %s", name)
	}
	image := map[string]string{}
	dockerfile, err := os.ReadFile("../../../scripts/release/Dockerfile")
	require.NoError(t, err)
	for _, pair := range regexp.MustCompile(`(?:ENV | )([A-Z_]+)=(\S+)`).FindAllStringSubmatch(string(dockerfile), -1) {
		image[pair[1]] = pair[2]
	}
	require.Contains(t, image, "HOOKBACK_SOCKET")
	cfg, rest, err := ParseFlags(h.args, func(name string) string {
		if value, ok := h.env[name]; ok {
			return value
		}
		return image[name]
	}, io.Discard)
	require.NoError(t, err)
	require.Empty(t, rest)
	require.Equal(t, "0.0.0.0:4000", cfg.Addr)
	require.Greater(t, h.grace, cfg.Drain+cfg.StopWithin, "the hub is killed while it stops")
	release, err := os.ReadFile("../../../scripts/release/goreleaser.yaml")
	require.NoError(t, err)
	name, _, _ := strings.Cut(h.image, ":")
	require.Contains(t, string(release), "images: ["+name+"]\n")
	return cfg
}

// requireOneOfTwo checks the settings of a hub that shares its database.
func requireOneOfTwo(t *testing.T, cfg *Config) {
	t.Helper()
	require.True(t, isPostgres(cfg.DB), cfg.DB)
	require.Equal(t, notifyBus, cfg.Bus)
	require.Equal(t, 5*time.Second, cfg.Drain)
	require.Equal(t, filepath.FromSlash("/data/hookback/postgres.key"), KeyFile(*cfg))
	public, err := url.Parse(cfg.PublicURL)
	require.NoError(t, err)
	require.Equal(t, []string{public.Hostname()}, cfg.AllowHosts)
	require.Empty(t, cfg.TrustProxy, "a load balancer names no person")
}

// variable matches ${NAME}, ${NAME:-default} and ${NAME:?message}.
var variable = regexp.MustCompile(`\$\{[A-Z_]+(?::([-?])([^}]*))?\}`)

type composeFile struct {
	Services map[string]struct {
		Image     string            `yaml:"image"`
		Env       map[string]string `yaml:"environment"`
		Command   []string          `yaml:"command"`
		Grace     string            `yaml:"stop_grace_period"`
		Ports     []string          `yaml:"ports"`
		Volumes   []string          `yaml:"volumes"`
		ReadOnly  bool              `yaml:"read_only"`
		DependsOn map[string]any    `yaml:"depends_on"`
	} `yaml:"services"`
	Volumes map[string]any `yaml:"volumes"`
}

// readCompose returns the hubs of a compose file, by service.
func readCompose(t *testing.T, name string) (composeFile, map[string]*hubContainer) {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	text = variable.ReplaceAllFunc(text, func(match []byte) []byte {
		if part := variable.FindSubmatch(match); string(part[1]) == "-" {
			return part[2]
		}
		return []byte("secret")
	})
	var file composeFile
	require.NoError(t, yaml.Unmarshal(text, &file))
	hubs := map[string]*hubContainer{}
	for service, s := range file.Services {
		for _, port := range s.Ports {
			require.True(t, strings.HasPrefix(port, "127.0.0.1:"), "%s is published to others", service)
		}
		for _, volume := range s.Volumes {
			source, _, _ := strings.Cut(volume, ":")
			if bound, isBind := strings.CutPrefix(source, "./"); isBind {
				require.FileExists(t, filepath.Join(filepath.Dir(name), bound))
			} else {
				require.Contains(t, file.Volumes, source)
			}
		}
		for other := range s.DependsOn {
			require.Contains(t, file.Services, other)
		}
		if strings.HasPrefix(s.Image, "ghcr.io/hookback/") {
			grace, err := time.ParseDuration(s.Grace)
			require.NoError(t, err)
			require.True(t, s.ReadOnly)
			hubs[service] = &hubContainer{image: s.Image, args: s.Command, env: s.Env, grace: grace}
		}
	}
	return file, hubs
}

func TestDeploy_ComposeRunsTwoHubs(t *testing.T) {
	t.Parallel()
	file, hubs := readCompose(t, "../../deploy/compose.yaml")
	require.Len(t, hubs, 2)
	caddyfile, err := os.ReadFile("../../deploy/Caddyfile")
	require.NoError(t, err)
	for name, h := range hubs {
		cfg := h.parse(t)
		requireOneOfTwo(t, &cfg)
		require.Equal(t, "postgres://hookback:xxxxx@postgres/hookback?sslmode=disable", cfg.databaseName())
		require.Contains(t, string(caddyfile), name+":4000")
		require.Equal(t, []string{"keys:/data"}, file.Services[name].Volumes, "both have the same key")
	}
	require.Contains(t, file.Services, "postgres")
	require.Contains(t, string(caddyfile), "health_uri /readyz\n")
	require.Contains(t, string(caddyfile), "Host localhost:4000\n", "as -health does")
}

func TestDeploy_ReleasedComposeRunsOneHub(t *testing.T) {
	t.Parallel()
	_, hubs := readCompose(t, "../../../scripts/release/compose.yaml")
	require.Len(t, hubs, 1)
	cfg := hubs["hub"].parse(t)
	require.Equal(t, "/data/hookback.db", cfg.DB)
}

type podContainer struct {
	Image string   `yaml:"image"`
	Args  []string `yaml:"args"`
	Env   []struct {
		Name      string         `yaml:"name"`
		Value     string         `yaml:"value"`
		ValueFrom map[string]any `yaml:"valueFrom"`
	} `yaml:"env"`
	ReadinessProbe  probe          `yaml:"readinessProbe"`
	LivenessProbe   probe          `yaml:"livenessProbe"`
	SecurityContext map[string]any `yaml:"securityContext"`
}

type probe struct {
	HTTPGet struct {
		Path    string              `yaml:"path"`
		Headers []map[string]string `yaml:"httpHeaders"`
	} `yaml:"httpGet"`
}

type manifest struct {
	Kind string `yaml:"kind"`
	Spec struct {
		Replicas int `yaml:"replicas"`
		Strategy struct {
			RollingUpdate map[string]int `yaml:"rollingUpdate"`
		} `yaml:"strategy"`
		Template struct {
			Spec struct {
				Grace           int            `yaml:"terminationGracePeriodSeconds"`
				SecurityContext map[string]any `yaml:"securityContext"`
				InitContainers  []podContainer `yaml:"initContainers"`
				Containers      []podContainer `yaml:"containers"`
			} `yaml:"spec"`
		} `yaml:"template"`
	} `yaml:"spec"`
}

func TestDeploy_KubernetesRunsTwoHubs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../deploy/kubernetes.yaml")
	require.NoError(t, err)
	manifests := map[string]*manifest{}
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		m := &manifest{}
		err := d.Decode(m)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		manifests[m.Kind] = m
	}
	require.Contains(t, manifests, "Service")
	require.Contains(t, manifests, "PodDisruptionBudget")
	deployment := manifests["Deployment"].Spec
	require.Equal(t, 2, deployment.Replicas)
	require.Zero(t, deployment.Strategy.RollingUpdate["maxUnavailable"])
	pod := deployment.Template.Spec
	require.Equal(t, true, pod.SecurityContext["runAsNonRoot"])
	for _, c := range append(pod.InitContainers, pod.Containers...) {
		require.Equal(t, true, c.SecurityContext["readOnlyRootFilesystem"], c.Image)
		require.Equal(t, false, c.SecurityContext["allowPrivilegeEscalation"], c.Image)
	}
	require.Len(t, pod.Containers, 1)
	c := pod.Containers[0]
	hub := hubContainer{image: c.Image, args: c.Args, env: map[string]string{}, grace: time.Duration(pod.Grace) * time.Second}
	for _, v := range c.Env {
		if hub.env[v.Name] = v.Value; v.Name == "HOOKBACK_DB" {
			require.Empty(t, v.Value, "the address is a secret")
			require.Contains(t, v.ValueFrom, "secretKeyRef")
			hub.env[v.Name] = "postgres://hookback:PASSWORD@db.example.com/hookback"
		}
	}
	cfg := hub.parse(t)
	requireOneOfTwo(t, &cfg)
	for path, p := range map[string]probe{"/readyz": c.ReadinessProbe, "/healthz": c.LivenessProbe} {
		require.Equal(t, path, p.HTTPGet.Path)
		require.Empty(t, p.HTTPGet.Headers, "the hub accepts the pod's own address")
	}
}
