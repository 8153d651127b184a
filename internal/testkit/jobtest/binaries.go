package jobtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Binaries are the programs that a test binary builds. It builds each program once, when a
// test first needs it. The zero value is ready for use. A program that another test binary
// has built from the same source is not linked again.
type Binaries struct {
	mu    sync.Mutex
	dir   string
	built map[string]built
}

type built struct {
	path string
	err  error
}

// Main runs the tests and removes the programs that they have built. TestMain calls
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

// Program returns the path of a program built with the intra tag. folder is its folder in
// this module.
func (b *Binaries) Program(t testing.TB, folder string) string {
	return b.build(t, folder, "-tags", "intra")
}

// Native returns the path of a program built for links over a native MPI library. folder
// is its folder in this module.
func (b *Binaries) Native(t testing.TB, folder string) string {
	return b.build(t, folder, "-tags", "intra,mpi")
}

// Plain returns the path of a program built without the tag. folder is its folder in this
// module.
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

// compile builds a program into a folder that all test binaries of a checkout share. The
// first one links the program, and the others find it up to date. The returned path is a
// file link of this test binary alone, so later builds do not change it.
func (b *Binaries) compile(folder string, flags []string) (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	shared := filepath.Join(root, "bin", "tests")
	if err := os.MkdirAll(shared, 0o755); err != nil {
		return "", fmt.Errorf("make room for programs: %w", err)
	}
	if b.dir == "" {
		if b.dir, err = os.MkdirTemp(shared, "run-"); err != nil {
			return "", fmt.Errorf("make room for programs: %w", err)
		}
	}
	path := filepath.Join(b.dir, fmt.Sprintf("%s-%d", filepath.Base(folder), len(b.built)))
	target := filepath.Join(shared, strings.NewReplacer("/", "_", " ", "").Replace(strings.Join(append(flags, folder), "_")))
	return path, alone(target+".lock", func() error {
		// Tests do not use DWARF, which takes a third of the time of a link.
		cmd := exec.Command("go", append(append([]string{"build", "-ldflags=-w", "-o", target}, flags...), "./"+folder)...)
		cmd.Dir, cmd.Env = root, append(os.Environ(), "GOTMPDIR="+shared) // so that the go command renames the program into place
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", folder, err, out)
		}
		return os.Link(target, path)
	})
}

// alone runs f while it holds the lock of a file, so that other processes do not run it at
// the same time.
func alone(name string, f func() error) error {
	lock, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return fmt.Errorf("make room for programs: %w", err)
	}
	defer lock.Close() // closing the file releases the lock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("wait for other test binaries: lock %s: %w", name, err)
	}
	return f()
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
