package jobtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Binaries are the programs that a test binary builds, each once, when a test
// first asks for it. The zero value is ready for use.
type Binaries struct {
	mu    sync.Mutex
	dir   string
	built map[string]built
}

type built struct {
	path string
	err  error
}

// Main runs the tests and removes what they have built: TestMain calls
// os.Exit(binaries.Main(m)).
func (b *Binaries) Main(m *testing.M) int {
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.dir != "" {
			os.RemoveAll(b.dir)
		}
	}()
	return m.Run()
}

// Intrarun returns the path of the intrarun command.
func (b *Binaries) Intrarun(t testing.TB) string { return b.Plain(t, "cmd/intrarun") }

// Program returns the path of the program in a folder of this module, built with
// the intra tag.
func (b *Binaries) Program(t testing.TB, folder string) string {
	return b.build(t, folder, "-tags", "intra")
}

// Native returns the path of the program in a folder of this module, built for links
// over a native MPI library.
func (b *Binaries) Native(t testing.TB, folder string) string {
	return b.build(t, folder, "-tags", "intra,mpi")
}

// Plain returns the path of a program built without the tag.
func (b *Binaries) Plain(t testing.TB, folder string) string { return b.build(t, folder) }

func (b *Binaries) build(t testing.TB, folder string, flags ...string) string {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	key := strings.Join(append(flags, folder), " ")
	one, ok := b.built[key]
	if !ok {
		one.path, one.err = b.compile(folder, flags)
		if b.built == nil {
			b.built = make(map[string]built)
		}
		b.built[key] = one
	}
	require.NoError(t, one.err)
	return one.path
}

func (b *Binaries) compile(folder string, flags []string) (string, error) {
	if b.dir == "" {
		dir, err := os.MkdirTemp("", "jobtest-")
		if err != nil {
			return "", fmt.Errorf("make room for programs: %w", err)
		}
		b.dir = dir
	}
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	path := filepath.Join(b.dir, fmt.Sprintf("%s-%d", filepath.Base(folder), len(b.built)))
	cmd := exec.Command("go", append(append([]string{"build", "-o", path}, flags...), "./"+folder)...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", folder, err, out)
	}
	return path, nil
}

// moduleRoot returns the folder of go.mod above the working directory.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("find the module: no go.mod above the working directory")
		}
		dir = parent
	}
}
