package generate

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/needs"
)

func TestUnified(t *testing.T) {
	old := "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\n"
	require.Equal(t, `--- a/f.go
+++ b/f.go
@@ -1,5 +1,5 @@
 a
-b
+B
 c
 d
 e
@@ -10,4 +10,5 @@
 j
 k
 l
+x
 m
`, unified("f.go", []byte(old), []byte(strings.Replace(strings.Replace(old, "b", "B", 1), "m", "x\nm", 1))))
	require.Equal(t, "--- /dev/null\n+++ b/f.go\n@@ -0,0 +1,1 @@\n+a\n", unified("f.go", nil, []byte("a\n")))
	require.Equal(t, "--- a/f.go\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n", unified("f.go", []byte("a\n"), nil))
}

// TestUnifiedPatches applies random differences with patch(1).
func TestUnifiedPatches(t *testing.T) {
	needs.Tool(t, "patch", "patch")
	rng := rand.New(rand.NewPCG(1, 2))
	text := func(n int) []byte {
		var b bytes.Buffer
		for range n {
			b.WriteString(strings.Repeat("x", rng.IntN(4)) + "\n")
		}
		return b.Bytes()
	}
	for range 100 {
		old, new := text(1+rng.IntN(40)), text(1+rng.IntN(40))
		if bytes.Equal(old, new) {
			continue
		}
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), old, 0o644))
		cmd := exec.Command("patch", "-p1", "-s")
		cmd.Dir = dir
		cmd.Stdin = strings.NewReader(unified("f", old, new))
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		got, err := os.ReadFile(filepath.Join(dir, "f"))
		require.NoError(t, err)
		require.Equal(t, string(new), string(got))
	}
}
