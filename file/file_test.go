package file_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/file"
	"github.com/intrahpc/intra/intratest"
)

// jobs have one or several ranks, and one or several replicas.
var jobs = []intra.Spec{{Ranks: 1, Replicas: 1}, {Ranks: 1, Replicas: 2}, {Ranks: 3, Replicas: 1}, {Ranks: 2, Replicas: 2}, {Degrees: []int{2, 1, 3}}}

// everyJob runs a program in jobs of several shapes, each with a folder of its own.
func everyJob(t *testing.T, run func(p *intra.Process, name string) error, check func(t *testing.T, ranks int, name string)) {
	t.Helper()
	for _, spec := range jobs {
		t.Run(fmt.Sprint(spec.Ranks, spec.Replicas, spec.Degrees), func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "out")
			intratest.Run(t, spec, func(p *intra.Process) error { return run(p, name) })
			check(t, max(spec.Ranks, len(spec.Degrees)), name)
			all, err := os.ReadDir(filepath.Dir(name))
			require.NoError(t, err)
			for _, e := range all {
				require.False(t, strings.HasPrefix(e.Name(), "."), "%s is left", e.Name())
			}
		})
	}
}

func contents(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(b)
}

func TestCreatedFileIsVisibleAsAWhole(t *testing.T) {
	everyJob(t, func(p *intra.Process, name string) error {
		for round := range 2 {
			f, err := file.Create(p, p.World(), name)
			if err != nil {
				return err
			}
			if err := f.WriteAtAll(fmt.Appendf(nil, "%d:%d ", round, p.Rank()), int64(4*p.Rank())); err != nil {
				return err
			}
			if _, err := os.Stat(name); (err == nil) != (round > 0) && p.Size() == 1 && p.Replica() == 0 {
				return fmt.Errorf("round %d: it is visible: %v", round, err == nil)
			}
			if err := f.Close(); err != nil {
				return err
			}
			if err := f.Close(); !errors.Is(err, os.ErrClosed) {
				return fmt.Errorf("closed twice: %w", err)
			}
		}
		return nil
	}, func(t *testing.T, ranks int, name string) {
		want := ""
		for r := range ranks {
			want += fmt.Sprintf("1:%d ", r)
		}
		require.Equal(t, want, contents(t, name))
	})
}

func TestAppendsAreInRankOrder(t *testing.T) {
	everyJob(t, func(p *intra.Process, name string) error {
		for round := range 3 { // it is opened again
			f, err := file.Append(p, p.World(), name)
			if err != nil {
				return err
			}
			if err := f.WriteAll(fmt.Appendf(nil, "%d%s ", round, strings.Repeat("r", p.Rank()))); err != nil {
				return err
			}
			if err := f.Close(); err != nil {
				return err
			}
		}
		return nil
	}, func(t *testing.T, ranks int, name string) {
		want := ""
		for round := range 3 {
			for r := range ranks {
				want += fmt.Sprintf("%d%s ", round, strings.Repeat("r", r))
			}
		}
		require.Equal(t, want, contents(t, name))
	})
}

func TestViewsSelectBlocks(t *testing.T) {
	everyJob(t, func(p *intra.Process, name string) error {
		f, err := file.Create(p, p.World(), name)
		if err != nil {
			return err
		}
		mine := f.View(file.View{Offset: int64(1 + 2*p.Rank()), Block: 2, Stride: int64(2 * p.Size())})
		if err := mine.WriteAtAll([]byte(strings.Repeat(fmt.Sprint(p.Rank()), 3)), 0); err != nil {
			return err
		}
		if err := mine.WriteAtAll([]byte("ab"), 3); err != nil { // spans two blocks
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
		b := make([]byte, 5)
		if err := mine.ReadAtAll(b, 0); err != nil {
			return err
		}
		if want := strings.Repeat(fmt.Sprint(p.Rank()), 3) + "ab"; string(b) != want {
			return fmt.Errorf("read %q, want %q", b, want)
		}
		if _, err := f.ReadAt(b, 1000); err != io.EOF {
			return fmt.Errorf("behind the end: %w", err)
		}
		return f.Close()
	}, func(t *testing.T, ranks int, name string) {
		want := "\x00"
		for _, part := range []func(r int) string{
			func(r int) string { return fmt.Sprint(r, r) },
			func(r int) string { return fmt.Sprintf("%da", r) },
			func(r int) string { return "b\x00" },
		} {
			for r := range ranks {
				want += strings.ReplaceAll(part(r), " ", "")
			}
		}
		require.Equal(t, strings.TrimRight(want, "\x00"), contents(t, name))
	})
}

func TestFilesAreReadByAllRanks(t *testing.T) {
	everyJob(t, func(p *intra.Process, name string) error {
		f, err := file.Create(p, nil, name+fmt.Sprint(p.Rank())) // one for each rank
		if err != nil {
			return err
		}
		for i := range 3 {
			if _, err := fmt.Fprintf(f, "line %d\n", i); err != nil {
				return err
			}
		}
		if err := f.Close(); err != nil {
			return err
		}
		if err := p.World().Barrier(); err != nil {
			return err
		}
		f, err = file.Open(p, p.World(), name+"0")
		if err != nil {
			return err
		}
		b, err := io.ReadAll(f)
		if err != nil || string(b) != "line 0\nline 1\nline 2\n" || f.Size() != int64(len(b)) {
			return fmt.Errorf("read %q of %d bytes: %w", b, f.Size(), err)
		}
		if _, err := f.Write(b); err == nil {
			return errors.New("wrote a file that is only read")
		}
		if _, err := file.Open(p, p.World(), name+"none"); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("no such file: %w", err)
		}
		return f.Close()
	}, func(t *testing.T, ranks int, name string) {})
}

// Every replica of every rank gets the same error, with the number of the system.
func TestErrorsAreTheSameOnAllReplicas(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder"), 0o755))
	for name, want := range map[string]error{
		filepath.Join(dir, "missing", "out"): syscall.ENOENT,
		filepath.Join(dir, "folder"):         syscall.EISDIR,
		"/proc/version":                      nil, // not writable, or no regular file: some error
	} {
		intratest.Run(t, intra.Spec{Ranks: 2, Replicas: 2}, func(p *intra.Process) error {
			for _, open := range []func() error{
				func() error { _, err := file.Create(p, p.World(), name); return err },
				func() error { _, err := file.Append(p, p.World(), name); return err },
			} {
				if err := open(); err == nil || want != nil && !errors.Is(err, want) {
					return fmt.Errorf("%s: got %w, want %w", name, err, want)
				}
			}
			return nil
		})
	}
}

// A process without a launcher, and one without a *intra.Process, write files in the same
// way.
func TestNilProcess(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out")
	f, err := file.Create(nil, nil, name)
	require.NoError(t, err)
	_, err = f.Write([]byte("one "))
	require.NoError(t, err)
	require.NoError(t, f.WriteAtAll([]byte("two"), 4))
	_, err = file.Create(nil, nil, "")
	require.Error(t, err)
	require.NoError(t, f.Sync())
	require.NoError(t, f.Close())
	require.Equal(t, "one two", contents(t, name))
}

func TestProgramClosesItsFiles(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out")
	err := intra.Run(t.Context(), intra.Spec{}, func(p *intra.Process) error {
		_, err := file.Append(p, nil, name)
		return err
	})
	require.ErrorContains(t, err, "was closed: call Close")
	require.ErrorContains(t, err, "file_test.go:")
}
