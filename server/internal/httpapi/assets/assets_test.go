package assets

import (
	"bytes"
	"context"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestFiles_ShutdownStopsCompression: compressing the real dashboard takes seconds.
func TestFiles_ShutdownStopsCompression(t *testing.T) {
	t.Parallel()
	root := fstest.MapFS{"assets/app-1.js": {Data: bytes.Repeat([]byte("console.log('hookback');\n"), 400)}}
	ctx, stop := context.WithCancel(t.Context())
	a := Load(ctx, root)
	<-a.Ready
	require.NotNil(t, a.files["/assets/app-1.js"].compressed.Load())
	stop()
	a = Load(ctx, root)
	<-a.Ready
	require.Nil(t, a.files["/assets/app-1.js"].compressed.Load())
}

func TestFiles_CompressFirstPageFirst(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"index.html": {Data: []byte(`<script src="/assets/m.js"></script><link href="/assets/z.css">`)}}
	for _, name := range []string{"a.js", "m.js", "n.js", "z.css"} {
		files["assets/"+name] = &fstest.MapFile{Data: []byte(name)}
	}
	a := Load(t.Context(), files)
	<-a.Ready
	require.Equal(t, []string{"/assets/m.js", "/assets/z.css", "/assets/a.js", "/assets/n.js", "/index.html"}, a.compressionOrder())
}
