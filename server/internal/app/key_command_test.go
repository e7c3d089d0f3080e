package app

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
)

// hubKey reads GET /api/hub.
func hubKey(t *testing.T, a *App) (key sign.HubKey) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(a.URL() + schema.PathHub)
	require.NoError(t, err)
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&key))
	require.NoError(t, resp.Body.Close())
	return key
}

func TestChangeKey_ReportsNextSteps(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	_, err := ChangeKey(t.Context(), cfg, false)
	require.ErrorContains(t, err, "find the database")
	a, stop := startHub(t, cfg)
	first := hubKey(t, a)
	_, err = ChangeKey(t.Context(), cfg, true)
	require.ErrorContains(t, err, "stop the hub first")
	stop()

	cfg.PublicURL = "https://hub.example.com"
	report, err := ChangeKey(t.Context(), cfg, true)
	require.NoError(t, err)
	cfg.PublicURL = ""
	a, stop = startHub(t, cfg)
	second := hubKey(t, a)
	stop()
	require.NotEqual(t, first.KeyID, second.KeyID)
	require.Len(t, second.Rotations, 1)
	require.Contains(t, report, second.KeyID)
	require.Contains(t, report, "https://hub.example.com ed25519 "+second.PublicKey)
	require.Contains(t, report, filepath.Base(cfg.DB)+".key")

	report, err = ChangeKey(t.Context(), cfg, false)
	require.NoError(t, err)
	require.Contains(t, report, "Every agent must trust the hub again")
	a, _ = startHub(t, cfg)
	third := hubKey(t, a)
	require.NotEqual(t, second.KeyID, third.KeyID)
	require.Empty(t, third.Rotations)
}
