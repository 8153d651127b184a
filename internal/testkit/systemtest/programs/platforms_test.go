//go:build system

package programs

import (
	"archive/zip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// TestPlatforms builds what users build on their own machines: programs with and without
// the tag, and the commands. On other systems intrarun and intrabench only print that they
// need Linux. On a platform that is not a Unix, only one program is built. With
// INTRA_MATRIX (`make matrix`) there are more platforms, and everything is built both ways
// on each.
func TestPlatforms(t *testing.T) {
	root, err := filepath.Abs("../../../..")
	require.NoError(t, err)
	all := []string{".", "./runtime", "./comm", "./kernels", "./intratest", "./examples/...", "./cmd/intragen", "./cmd/intravary", "./cmd/intravet", "./cmd/intrarun", "./cmd/intrabench"}
	type build struct {
		platform, tags string
		packages       []string
	}
	builds := []build{
		{"darwin/arm64", "", []string{"./examples/hpccg", "./intratest", "./cmd/intrarun"}},
		{"windows/amd64", "intra", []string{"./examples/hpccg"}},
	}
	if jobtest.Matrix() {
		builds = nil
		for _, platform := range []string{"darwin/arm64", "windows/amd64", "freebsd/amd64", "linux/arm64"} {
			builds = append(builds, build{platform, "", all}, build{platform, "intra", all})
		}
	}
	for _, b := range builds {
		system, cpu, _ := strings.Cut(b.platform, "/")
		t.Run(strings.Trim(b.platform+","+b.tags, ","), func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "go", append([]string{"build", "-o", t.TempDir(), "-tags", b.tags}, b.packages...)...)
			cmd.Dir, cmd.Env = root, append(os.Environ(), "GOOS="+system, "GOARCH="+cpu, "CGO_ENABLED=0")
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}

// A user without a copy of this repository can install all commands from an empty folder.
func TestInstallFromAnEmptyFolder(t *testing.T) {
	jobtest.NeedMatrix(t, "it compiles the whole module in another place")
	root, err := filepath.Abs("../../../..")
	require.NoError(t, err)
	proxy := t.TempDir()
	publish(t, root, proxy, "v0.1.0")
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	require.NoError(t, err)
	bin := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "install", module+"/cmd/...@v0.1.0")
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "GOBIN="+bin, "GOWORK=off", "GOFLAGS=-modcacherw", "GONOSUMDB=*", "GONOSUMCHECK=1", "GOSUMDB=off",
		"GOMODCACHE="+t.TempDir(), "GOPROXY=file://"+proxy+",file://"+filepath.Join(strings.TrimSpace(string(cache)), "cache", "download"))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, name := range []string{"intragen", "intravary", "intravet", "intrarun", "intrabench"} {
		require.FileExists(t, filepath.Join(bin, name))
	}
}

const module = "github.com/intrahpc/intra"

// publish puts the files of the checkout that git knows into a module proxy.
func publish(t *testing.T, root, proxy, version string) {
	dir := filepath.Join(proxy, filepath.FromSlash(module), "@v")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	write := func(name string, text []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o644))
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	write("list", []byte(version+"\n"))
	write(version+".info", []byte(`{"Version":"`+version+`"}`))
	write(version+".mod", mod)
	files, err := exec.Command("git", "-C", root, "ls-files", "-co", "--exclude-standard").Output()
	require.NoError(t, err)
	var modules []string // modules below this one, whose files are not part of it
	for name := range strings.FieldsSeq(string(files)) {
		if below, ok := strings.CutSuffix(name, "/go.mod"); ok {
			modules = append(modules, below+"/")
		}
	}
	f, err := os.Create(filepath.Join(dir, version+".zip"))
	require.NoError(t, err)
	defer f.Close()
	z := zip.NewWriter(f)
	for name := range strings.FieldsSeq(string(files)) {
		if slices.ContainsFunc(modules, func(m string) bool { return strings.HasPrefix(name, m) }) {
			continue
		}
		from, err := os.Open(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // a file that was removed, but the removal is not committed
		}
		require.NoError(t, err)
		to, err := z.Create(module + "@" + version + "/" + name)
		require.NoError(t, err)
		_, err = io.Copy(to, from)
		require.NoError(t, err)
		require.NoError(t, from.Close())
	}
	require.NoError(t, z.Close())
}
