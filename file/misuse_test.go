package file_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/file"
	"github.com/intrahpc/intra/intratest"
)

// misused runs a call in two ranks with one and with two replicas. It requires each of these texts
// in the error of some rank. If everywhere is set, every replica must return an error.
func misused(t *testing.T, everywhere bool, call func(p *intra.Process, dir string) error, texts ...string) {
	t.Helper()
	for replicas := 1; replicas <= 2; replicas++ {
		var lock sync.Mutex
		all := make([]error, 2)
		dir := t.TempDir()
		intratest.Run(t, intra.Spec{Ranks: 2, Replicas: replicas}, func(p *intra.Process) error {
			err := call(p, dir)
			lock.Lock()
			defer lock.Unlock()
			if everywhere && err == nil {
				return errors.New("no error")
			}
			all[p.Rank()] = err
			return nil
		})
		for _, text := range texts {
			require.ErrorContains(t, errors.Join(all...), text)
		}
		require.NoFileExists(t, filepath.Join(dir, "f"), "%d replicas", replicas)
	}
}

// A program that ignores the error of a write gets it from Close, and no file that lacks
// bytes.
func TestCloseReturnsTheErrorOfARefusedWrite(t *testing.T) {
	for name, c := range map[string]struct {
		write func(f *file.File, p *intra.Process)
		want  string
	}{
		"negative offset": {func(f *file.File, p *intra.Process) { _, _ = f.WriteAt([]byte("x"), int64(-p.Rank())) }, "offset -1, want at least 0"},
		"of one rank":     {func(f *file.File, p *intra.Process) { _ = f.WriteAtAll([]byte("x"), int64(-p.Rank())) }, "rank 1: write"},
		"in a section": {func(f *file.File, p *intra.Process) {
			s := p.Section()
			_ = f.WriteAtAll([]byte("x"), int64(p.Rank()))
			_ = s.End() // an empty section
		}, "in the section opened at file/misuse_test.go:"},
		"in a section, by fmt": {func(f *file.File, p *intra.Process) {
			s := p.Section()
			fmt.Fprintln(f, "x")
			_ = s.End() // an empty section
		}, "Write is called at file/misuse_test.go:"},
		"without an order": {func(f *file.File, p *intra.Process) { fmt.Fprintln(f, "x") }, "use WriteAll"},
		"as records":       {func(f *file.File, p *intra.Process) { _ = f.WriteAll([]byte("x")) }, "use WriteAtAll"},
		"blocks that overlap": {func(f *file.File, p *intra.Process) {
			_, _ = f.View(file.View{Block: 4, Stride: 2}).WriteAt([]byte("x"), 0)
		}, "offset 0, block 4, stride 2"},
		"too far": {func(f *file.File, p *intra.Process) { _, _ = f.WriteAt([]byte("xyz"), math.MaxInt64-1) }, "offset 9223372036854775806"},
		"a view too far": {func(f *file.File, p *intra.Process) {
			_ = f.View(file.View{Offset: 1, Block: 1, Stride: 1 << 61}).WriteAtAll([]byte("wxyz"), 0)
		}, "want an end before 2^62"},
	} {
		t.Run(name, func(t *testing.T) {
			misused(t, true, func(p *intra.Process, dir string) error {
				f, err := file.Create(p, p.World(), filepath.Join(dir, "f"))
				if err != nil {
					return fmt.Errorf("create: %w", err)
				}
				c.write(f, p)
				return f.Close()
			}, c.want)
		})
	}
}

// A log keeps its whole records, and Close returns the error of the one that is missing.
func TestCloseReturnsTheErrorOfAMissingRecord(t *testing.T) {
	everyJob(t, func(p *intra.Process, name string) error {
		f, err := file.Append(p, p.World(), name)
		if err != nil {
			return err
		}
		if err := f.WriteAll([]byte("x")); err != nil {
			return err
		}
		if _, err := f.WriteAt([]byte("y"), 7); err == nil {
			return errors.New("overwrote a record")
		}
		if _, err := f.Write([]byte("y")); p.Size() > 1 && !errors.Is(err, file.ErrUnordered) {
			return fmt.Errorf("appended without an order: %w", err)
		}
		if err := f.Close(); err == nil {
			return errors.New("Close returned nil")
		}
		if f, err = file.Append(p, p.World(), name); err != nil {
			return err
		}
		return f.Close()
	}, func(t *testing.T, ranks int, name string) { require.Len(t, contents(t, name), max(2, ranks)) })
}

// A replacement knows of the write that has failed before it joined.
func TestReplacementKnowsOfAFailedWrite(t *testing.T) {
	dir := t.TempDir()
	var lock sync.Mutex
	var all []error
	intratest.Run(t, intra.Spec{Ranks: 2, Replicas: 2}, func(p *intra.Process) error {
		pass := 0
		intra.Protect(p, "pass", &pass)
		f, err := file.Create(p, p.World(), filepath.Join(dir, "f"))
		if err != nil {
			return err
		}
		for ; pass < 400; pass++ {
			if err := p.SafePoint(); err != nil {
				return err
			}
			off := int64(p.Rank())
			if pass == 1 {
				off = -off
			}
			if err := f.WriteAtAll([]byte("x"), off); (err != nil) != (pass == 1) {
				return fmt.Errorf("pass %d: %w", pass, err)
			}
		}
		err = f.Close()
		lock.Lock()
		defer lock.Unlock()
		all = append(all, err)
		return nil
	}, intratest.Replace(), intratest.Kills("0.1@message:12"))
	require.Len(t, all, 4)
	for _, err := range all {
		require.EqualError(t, err, all[0].Error())
		require.ErrorContains(t, err, "rank 1: write")
	}
	require.NoFileExists(t, filepath.Join(dir, "f"))
}

func TestOneFileIsOpenedOnce(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Symlink("f", filepath.Join(dir, "link")))
	for _, second := range []string{"f", "../" + filepath.Base(dir) + "/f", "link"} {
		misused(t, true, func(p *intra.Process, _ string) error {
			f, err := file.Append(p, p.World(), filepath.Join(dir, "f"))
			if err != nil {
				return fmt.Errorf("the first: %w", err)
			}
			defer f.Close() // the error below is the outcome
			_, err = file.Append(p, p.World(), dir+"/"+second)
			return err
		}, "is open already", "since file/misuse_test.go:")
		require.Empty(t, contents(t, filepath.Join(dir, "f")))
	}
}

// Ranks that share a file must open the same file in the same way.
func TestRanksOpenTheSameFile(t *testing.T) {
	misused(t, true, func(p *intra.Process, dir string) error {
		_, err := file.Create(p, p.World(), filepath.Join(dir, fmt.Sprint("f", p.Rank())))
		return err
	}, "rank 1: create ", "/f1: rank 0 of its communicator wants to create ")
	misused(t, true, func(p *intra.Process, dir string) error {
		open := file.Create
		if p.Rank() == 1 {
			open = file.Append
		}
		_, err := open(p, p.World(), filepath.Join(dir, "f"))
		return err
	}, "rank 1: append to ")
}

// Replicas that do not make the same call have diverged.
func TestReplicasMakeTheSameCalls(t *testing.T) {
	for name, run := range map[string]func(p *intra.Process, name string) error{
		"names": func(p *intra.Process, name string) error {
			_, err := file.Create(p, nil, fmt.Sprint(name, p.Replica()))
			return err
		},
		"offsets": func(p *intra.Process, name string) error {
			f, err := file.Create(p, nil, name)
			if err != nil {
				return err
			}
			_, err = f.WriteAt([]byte("x"), int64(p.Replica()))
			return err
		},
		"calls": func(p *intra.Process, name string) error {
			f, err := file.Create(p, nil, name)
			if err != nil {
				return err
			}
			if p.Replica() == 0 {
				_, err = f.WriteAt([]byte("x"), 1)
			}
			return errors.Join(err, f.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			err := intra.Run(t.Context(), intra.Spec{Ranks: 1, Replicas: 2}, func(p *intra.Process) error { return run(p, filepath.Join(dir, "f")) })
			require.ErrorIs(t, err, intra.ErrDiverged)
			require.ErrorContains(t, err, "replicas must make the same calls")
		})
	}
}

// Two ranks that append to one file, each for itself, would overwrite each other's records.
func TestTwoRanksAppendToOneFile(t *testing.T) {
	dir := t.TempDir()
	misused(t, false, func(p *intra.Process, _ string) error {
		f, err := file.Append(p, nil, filepath.Join(dir, "log"))
		if e := p.World().Barrier(); e != nil || err != nil {
			return errors.Join(err, e)
		}
		return f.Close()
	}, "append to it together", "WriteAll")
}

// Ranks must not write the same bytes in one call, because it is undefined which of them would
// stay.
func TestRanksThatOverlap(t *testing.T) {
	for name, c := range map[string]struct {
		view  func(rank int64) file.View
		off   int64 // offset of rank 1
		bytes int
		want  bool
	}{
		"side by side":             {func(int64) file.View { return file.View{} }, 5, 5, false},
		"by a byte":                {func(int64) file.View { return file.View{} }, 4, 5, true},
		"nothing":                  {func(int64) file.View { return file.View{} }, 0, 0, false},
		"blocks in turn":           {func(rank int64) file.View { return file.View{Offset: 2 * rank, Block: 2, Stride: 4} }, 0, 7, false},
		"blocks that overlap":      {func(rank int64) file.View { return file.View{Offset: rank, Block: 2, Stride: 4} }, 0, 7, true},
		"parts of the same blocks": {func(int64) file.View { return file.View{Block: 6, Stride: 8} }, 3, 3, false},
		"part of a block":          {func(int64) file.View { return file.View{Block: 6, Stride: 8} }, 3, 4, true},
		"other strides":            {func(rank int64) file.View { return file.View{Block: 1, Stride: 3 + 2*rank, Offset: rank} }, 0, 4, true},
		"other strides, apart":     {func(rank int64) file.View { return file.View{Block: 1, Stride: 2 + 2*rank, Offset: rank} }, 0, 4, false},
	} {
		t.Run(name, func(t *testing.T) {
			call := func(p *intra.Process, dir string) error {
				f, err := file.Create(p, p.World(), filepath.Join(dir, "f"))
				if err != nil {
					return err
				}
				_ = f.View(c.view(int64(p.Rank()))).WriteAtAll(make([]byte, c.bytes), c.off*int64(p.Rank()))
				return f.Close()
			}
			if c.want {
				misused(t, true, call, "rank 0: write", "bytes that rank 1 writes in the same call")
				return
			}
			dir := t.TempDir()
			intratest.Run(t, intra.Spec{Ranks: 2, Replicas: 2}, func(p *intra.Process) error { return call(p, dir) })
		})
	}
}

func TestNoFile(t *testing.T) {
	var f *file.File
	_, err := f.Write(nil)
	require.ErrorIs(t, err, os.ErrInvalid)
	_, err = f.ReadAt(nil, 0)
	require.ErrorIs(t, err, os.ErrInvalid)
	for _, err := range []error{f.Close(), f.Sync(), f.WriteAll(nil), f.WriteAtAll(nil, 0), f.ReadAtAll(nil, 0)} {
		require.ErrorIs(t, err, os.ErrInvalid)
	}
	for _, name := range []string{t.TempDir() + "/f/", t.TempDir(), "."} {
		_, err = file.Create(nil, nil, name)
		require.ErrorContains(t, err, "is a directory")
	}
}
