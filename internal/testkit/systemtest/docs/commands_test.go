//go:build system

package docs

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
	"github.com/intrahpc/intra/internal/testkit/needs"
)

// commandTime bounds one command.
const commandTime = 10 * time.Minute

// Every command of the documents works as described, with commands built from this
// checkout. A note in the document gives the reason if a command is not run.
func TestCommands(t *testing.T) {
	for _, d := range documents(t) {
		t.Run(d.name, func(t *testing.T) {
			switch d.name {
			case "docs/annotations.md", "docs/recovery.md":
				jobtest.NeedMatrix(t, "its commands take minutes of processor time, and other tests run such programs and flags")
			}
			newReader(t).follow(d)
		})
	}
}

// reader follows a document in an empty folder, as a user would.
type reader struct {
	t       *testing.T
	dir     string
	environ []string
	printed string // output of all commands so far
	proxy   string // the module proxy that this machine uses
}

func newReader(t *testing.T) *reader {
	t.Helper()
	beside, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Symlink(root, filepath.Join(beside, "intra"))) // the clone
	dir := filepath.Join(beside, "empty")
	require.NoError(t, os.Mkdir(dir, 0o755))
	bin := t.TempDir()
	for _, tool := range []string{"intrarun", "intragen", "intravet", "intravary", "intrabench"} {
		require.NoError(t, os.Symlink(binaries.Plain(t, "cmd/"+tool), filepath.Join(bin, tool)))
	}
	program := "#!/bin/sh\nexec " + binaries.Program(t, "examples/hpccg") + " -nx 8 -ny 8 -nz 8 -iters 300 \"$@\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(bin, "PROGRAM"), []byte(program), 0o755))
	r := &reader{t: t, dir: dir}
	// A proxy serves the modules that this one needs, and answers "not found" to all
	// other requests, so that nothing is fetched from the network.
	cache := strings.TrimSpace(r.output(root, "go env GOMODCACHE"))
	r.proxy = strings.TrimSpace(r.output(root, "go env GOPROXY"))
	r.environ = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"),
		"GOWORK=off", "GOPROXY=file://"+filepath.ToSlash(filepath.Join(cache, "cache", "download")),
		"MAKEFLAGS=BIN="+t.TempDir(), "TMPDIR="+t.TempDir(),
		"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_rmaps_base_oversubscribe=1")
	return r
}

func (r *reader) follow(d document) {
	for _, b := range d.blocks {
		kind, value, _ := strings.Cut(b.note, ": ")
		dir := r.dir
		switch kind {
		case "not run":
			continue
		case "in the repository":
			dir = root
		case "setup":
			r.run(dir, value)
		case "needs":
			tool, debian, _ := strings.Cut(value, " ")
			needs.Tool(r.t, tool, debian) // skips the rest of the page if the tool is missing
		case "file":
			require.NoError(r.t, os.MkdirAll(filepath.Dir(filepath.Join(r.dir, value)), 0o755))
			require.NoError(r.t, os.WriteFile(filepath.Join(r.dir, value), []byte(b.text), 0o644))
		case "printed":
			for line := range strings.Lines(b.text) {
				require.Equal(r.t, times[value], strings.Count(r.printed, strings.TrimSpace(line)), "%s:%d\n%s", d.name, b.line, r.printed)
			}
		}
		for _, line := range b.commands() {
			r.run(dir, line)
		}
	}
}

var kill = regexp.MustCompile(`-kill (\d+\.\d+)@`)

func (r *reader) run(dir, line string) {
	command := line
	// The first command also needs modules for the tests of other modules. The second needs
	// modules that only their tests use.
	if line == "go mod tidy" || strings.HasPrefix(line, "go get gonum.org/") {
		command = "GOPROXY=" + r.proxy + " " + line
	}
	out := r.output(dir, command)
	r.printed += out
	for _, m := range kill.FindAllStringSubmatch(line, -1) {
		require.Regexp(r.t, m[1]+" is (dead|replaced)", out, "%s: nobody was killed", line)
	}
	if strings.Contains(line, "(read line; pkill -9") {
		require.Contains(r.t, out, "killed by SIGKILL", "%s: nobody was killed", line)
	}
	if strings.HasPrefix(line, "go mod init") { // use this checkout instead of a download
		r.output(dir, "go mod edit -require github.com/intrahpc/intra@v0.0.0 -replace github.com/intrahpc/intra="+root)
		sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
		require.NoError(r.t, err)
		require.NoError(r.t, os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o644))
	}
	if m := replacement.FindStringSubmatch(line); m != nil {
		// The clone is this checkout at another path. The build cache knows its packages only
		// at its own path.
		clone, err := filepath.EvalSymlinks(filepath.Join(dir, m[1]))
		require.NoError(r.t, err)
		here, err := filepath.EvalSymlinks(root)
		require.NoError(r.t, err)
		require.Equal(r.t, here, clone, line)
		r.output(dir, "go mod edit -replace github.com/intrahpc/intra="+root)
	}
}

var replacement = regexp.MustCompile(`-replace github\.com/intrahpc/intra=(\S+)`)

// output runs a command that must succeed, and returns its output.
func (r *reader) output(dir, line string) string {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), commandTime)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, "bash", "-c", line)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, r.environ, &out, &out
	if dir != root {
		cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], "GOFLAGS=-mod=mod -ldflags=-w") // tests do not need DWARF, which takes a third of the time of each link
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	began := time.Now()
	err := cmd.Run()
	require.NoError(r.t, err, "%s\n%s", line, out.String())
	r.t.Logf("%.1f s: %s", time.Since(began).Seconds(), line)
	return out.String()
}
