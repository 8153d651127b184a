package file_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/file"
	"github.com/intrahpc/intra/intratest"
)

// written opens a file by a name, writes its contents, and closes it.
func written(open func(*intra.Process, *comm.Comm, string) (*file.File, error), name, text string) error {
	f, err := open(nil, nil, name)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(text))
	return errors.Join(err, f.Close())
}

// A name leads to the same file as in package os.
func TestNamesLeadThroughLinks(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "far", "real"), 0o777))
	require.NoError(t, os.Symlink(filepath.Join("far", "real"), filepath.Join(dir, "folder")))
	require.NoError(t, os.Symlink(filepath.Join("folder", "behind"), filepath.Join(dir, "dangling")))
	require.NoError(t, os.Symlink("round", filepath.Join(dir, "round")))
	t.Chdir(filepath.Join(dir, "folder"))
	t.Setenv("PWD", filepath.Join(dir, "folder")) // as a shell sets it
	for name, want := range map[string]string{
		"f":                                   "far/real/f",
		"../up":                               "far/up",
		"../real/../other":                    "far/other",
		filepath.Join(dir, "folder", "g"):     "far/real/g",
		dir + "/folder/../beside":             "far/beside",
		filepath.Join(dir, "dangling"):        "far/real/behind",
		"../../far/./real/../real/../../last": "last",
	} {
		for _, open := range []func(*intra.Process, *comm.Comm, string) (*file.File, error){file.Create, file.Append} {
			require.NoError(t, written(open, name, "text"))
			require.Equal(t, "text", contents(t, filepath.Join(dir, want)), name)
			require.NoError(t, os.Remove(filepath.Join(dir, want)))
		}
	}
	link, err := os.Readlink(filepath.Join(dir, "dangling"))
	require.NoError(t, err)
	require.Equal(t, "folder/behind", link)
	for _, open := range []func(*intra.Process, *comm.Comm, string) (*file.File, error){file.Create, file.Append} {
		require.ErrorIs(t, written(open, filepath.Join(dir, "round"), ""), syscall.ELOOP)
		require.ErrorContains(t, written(open, os.DevNull, ""), "use package os in intra.Once")
	}
}

// A file that is open must not be opened by another name: the records of one would replace
// those of the other.
func TestOneNewFileIsOpenedOnce(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "real"), 0o777))
	require.NoError(t, os.Symlink("real", filepath.Join(dir, "folder")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), nil, 0o666))
	require.NoError(t, os.Link(filepath.Join(dir, "a"), filepath.Join(dir, "b")))
	for first, second := range map[string]string{"folder/log": "real/log", "real/other": "folder/other", "a": "b"} {
		f, err := file.Append(nil, nil, filepath.Join(dir, first))
		require.NoError(t, err)
		misused(t, true, func(p *intra.Process, _ string) error {
			f, err := file.Append(p, p.World(), filepath.Join(dir, first))
			if err != nil {
				return err
			}
			defer f.Close() // the error below is the outcome
			_, err = file.Append(p, p.World(), filepath.Join(dir, second))
			return err
		}, "appends to it, too")
		require.NoError(t, f.Close())
		misused(t, true, func(p *intra.Process, _ string) error {
			f, err := file.Append(p, p.World(), filepath.Join(dir, first))
			if err != nil {
				return err
			}
			defer f.Close() // the error below is the outcome
			_, err = file.Append(p, p.World(), filepath.Join(dir, second))
			return err
		}, "is open already")
	}
}

// After a rollback a log is cut off where it ended at the safe point, by whichever name it was
// last written.
func TestRollbackOfALogWithTwoNames(t *testing.T) {
	dir := t.TempDir()
	names := []string{filepath.Join(dir, "log"), dir + "/./log"}
	intratest.Run(t, intra.Spec{Ranks: 2, Replicas: 1}, func(p *intra.Process) error {
		pass := 0
		intra.Protect(p, "pass", &pass)
		add := func(name, line string) error {
			f, err := file.Append(p, nil, name)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(f, line)
			return errors.Join(err, f.Close())
		}
		if !p.Restored() && p.Rank() == 0 {
			if err := errors.Join(add(names[0], "first"), add(names[1], "second")); err != nil {
				return err
			}
		}
		for ; pass < 10; pass++ {
			if err := p.SafePoint(); err != nil {
				return err
			}
			for range 6 { // processes die in these calls
				if _, err := comm.AllreduceValue(p.World(), pass, comm.Sum); err != nil {
					return err
				}
			}
		}
		if p.Rank() > 0 {
			return nil
		}
		return add(names[0], "last")
	}, intratest.Replace(), intratest.Backup(2), intratest.Kills("1.0@message:40"))
	require.Equal(t, "first\nsecond\nlast\n", contents(t, names[0]))
}

// Another program removes or replaces a file that is being written: Close returns an error, even if
// there is an older file of the same size.
func TestFileThatAnotherProgramRemoves(t *testing.T) {
	for name, c := range map[string]struct {
		open    func(*intra.Process, *comm.Comm, string) (*file.File, error)
		replace bool // by another file
		sync    bool // the bytes are durable before
	}{
		"created":                 {file.Create, false, false},
		"created and durable":     {file.Create, false, true},
		"appended to":             {file.Append, false, false},
		"appended to, a new file": {file.Append, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			misused(t, true, func(p *intra.Process, dir string) error {
				path := filepath.Join(dir, "field")
				if p.Rank() == 0 && p.Replica() == 0 {
					if err := os.WriteFile(path, []byte("old 0old 1"), 0o666); err != nil {
						return err
					}
				}
				if err := p.World().Barrier(); err != nil {
					return err
				}
				f, err := c.open(p, p.World(), path)
				if err != nil {
					return err
				}
				if f.Size() == 0 {
					err = f.WriteAtAll(fmt.Appendf(nil, "new %d", p.Rank()), int64(5*p.Rank()))
				} else {
					err = f.WriteAll([]byte("record"))
				}
				if err == nil && c.sync {
					err = f.Sync()
				}
				if err = errors.Join(err, p.World().Barrier()); err != nil {
					return fmt.Errorf("before: %w", err)
				}
				if p.Rank() == 0 {
					all, _ := filepath.Glob(filepath.Join(dir, ".field*"))
					if len(all) == 0 {
						all = []string{path}
					}
					_ = os.Remove(all[0]) // the other replica may have removed it
					if c.replace {
						_ = os.WriteFile(all[0], []byte("other"), 0o666)
					}
				}
				if err := p.World().Barrier(); err != nil {
					return err
				}
				return f.Close()
			}, "was removed or replaced")
		})
	}
}

// Two jobs must not append to one file at a time.
func TestTwoJobsAppendToOneFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	appends := func(p *intra.Process, meanwhile func()) error {
		f, err := file.Append(p, p.World(), name)
		if err != nil {
			return err
		}
		_, err = f.Write([]byte("record\n"))
		meanwhile()
		return errors.Join(err, f.Close())
	}
	var other error
	intratest.Run(t, intra.Spec{Ranks: 1, Replicas: 2}, func(p *intra.Process) error {
		return appends(p, func() {
			if p.Replica() == 0 {
				other = intra.Run(t.Context(), intra.Spec{Ranks: 1, Replicas: 2}, func(p *intra.Process) error { return appends(p, func() {}) })
			}
		})
	})
	require.ErrorContains(t, other, "rank 0 of this or another job appends to it, too")
	require.Equal(t, "record\n", contents(t, name))
}
