package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/checkpoint"
)

var ours = checkpoint.Job{Build: "build-of-the-program", Arch: "amd64 little", Ranks: 2, Tasks: 16,
	Program: "example.org/program", Args: checkpoint.EncodeArgs([]string{"-nx", "64", "a b"})}

// image returns the state of a small program.
func image(t require.TestingT, seed uint64) *checkpoint.Image {
	p := newProgram(seed, 4)
	var s checkpoint.State
	p.register(t, &s)
	im, err := s.Image()
	require.NoError(t, err)
	return im
}

func position(set uint64, rank int) []byte { return fmt.Appendf(nil, "set %d rank %d", set, rank) }

// writeSet writes a set. Only a complete set gets its index.
func writeSet(t *testing.T, dir string, number uint64, job checkpoint.Job, complete bool) {
	s := checkpoint.Set{Job: job, Number: number, Cut: 10 * number}
	for rank := range job.Ranks {
		h := checkpoint.Header{Job: job, Set: number, Cut: s.Cut, Rank: rank}
		f, err := checkpoint.Write(t.Context(), dir, h, position(number, rank), image(t, 100*number+uint64(rank)))
		require.NoError(t, err)
		s.Files = append(s.Files, f)
	}
	if complete {
		slices.Reverse(s.Files) // ranks may finish in any order
		require.NoError(t, s.Complete(dir))
	}
}

func names(t *testing.T, dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestSetsAreKeptAndRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "of job")
	number, err := checkpoint.Next(dir, ours)
	require.NoError(t, err)
	require.Equal(t, uint64(1), number)
	_, _, err = checkpoint.Latest(dir, ours)
	require.ErrorContains(t, err, "no such file or directory")
	for n := uint64(1); n <= 4; n++ {
		writeSet(t, dir, n, ours, n != 2)
	}
	require.Equal(t, []string{"set-000003", "set-000004"}, names(t, dir))
	require.Equal(t, []string{"index", "rank-0", "rank-1"}, names(t, filepath.Join(dir, "set-000004")), "no temporary files")
	writeSet(t, dir, 5, ours, false)
	number, err = checkpoint.Next(dir, ours)
	require.NoError(t, err)
	require.Equal(t, uint64(6), number)

	s, refused, err := checkpoint.Latest(dir, ours)
	require.NoError(t, err)
	require.Len(t, refused, 1)
	require.ErrorIs(t, refused[0], checkpoint.ErrIncomplete)
	require.ErrorContains(t, refused[0], "checkpoint set-000005 is not used: the set is incomplete")
	require.Equal(t, uint64(4), s.Number)
	require.Equal(t, uint64(40), s.Cut)
	for rank := range ours.Ranks {
		pos, im, err := checkpoint.Read(dir, s, rank)
		require.NoError(t, err)
		require.Equal(t, string(position(4, rank)), string(pos))
		require.Equal(t, image(t, uint64(400+rank)).Manifest(), im.Manifest())
		var st checkpoint.State
		st.From(im)
		newProgram(1, 9).register(t, &st)
		require.NoError(t, st.Settle())
	}
}

// A set can be completed only by a process that sees its files.
func TestFilesElsewhere(t *testing.T) {
	dir, s := t.TempDir(), checkpoint.Set{Job: ours, Number: 1, Cut: 10}
	for rank := range ours.Ranks {
		at := dir
		if rank == 1 {
			at = t.TempDir() // a folder of another host
		}
		f, err := checkpoint.Write(t.Context(), at, checkpoint.Header{Job: ours, Set: 1, Cut: 10, Rank: rank}, nil, image(t, 1))
		require.NoError(t, err)
		s.Files = append(s.Files, f)
	}
	require.ErrorContains(t, s.Complete(dir), "rank-1 was written, and is not here: is "+dir+" on a file system that all hosts share?")
	require.Equal(t, []string{"rank-0"}, names(t, filepath.Join(dir, "set-000001")))
}

// A set with any damage is refused with a reason, and the older set is used.
func TestDamagedSets(t *testing.T) {
	rank1 := filepath.Join("set-000002", "rank-1")
	index := filepath.Join("set-000002", "index")
	edit := func(name string, change func([]byte) []byte) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			b, err := os.ReadFile(filepath.Join(dir, name))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), change(b), 0o600))
		}
	}
	flip := func(at int) func([]byte) []byte {
		return func(b []byte) []byte {
			b[(at+len(b))%len(b)] ^= 0x10
			return b
		}
	}
	another := ours
	another.Program = "example.org/another"
	smaller := ours
	smaller.Args = checkpoint.EncodeArgs([]string{"-nx", "32"})
	wider := ours
	wider.Ranks = 3
	tests := []struct {
		name  string
		spoil func(t *testing.T, dir string)
		is    error
		want  string
	}{
		{"truncated", edit(rank1, func(b []byte) []byte { return b[:len(b)-9] }), checkpoint.ErrCorrupt, "rank-1: corrupt state: "},
		{"empty", edit(rank1, func(b []byte) []byte { return nil }), checkpoint.ErrForeign, "rank-1: foreign checkpoint: it does not begin as one"},
		{"longer", edit(rank1, func(b []byte) []byte { return append(b, 0) }), checkpoint.ErrCorrupt, "1 bytes too many"},
		{"bit of the contents", edit(rank1, flip(-12)), checkpoint.ErrCorrupt, `chunk 0 of "started" has other contents than were written`},
		{"bit of the header", edit(rank1, flip(40)), checkpoint.ErrCorrupt, "its header is not as it was written"},
		{"another file", edit(rank1, func([]byte) []byte { return []byte("#!/bin/sh\necho this is no checkpoint\n") }), checkpoint.ErrForeign, "it does not begin as one"},
		{"later format", edit(rank1, func(b []byte) []byte { b[17] = 9; return b }), checkpoint.ErrVersion, "format 9, and this program reads 2"},
		{"missing", func(t *testing.T, dir string) { require.NoError(t, os.Remove(filepath.Join(dir, rank1))) }, os.ErrNotExist, "no such file"},
		{"of another rank", func(t *testing.T, dir string) {
			require.NoError(t, os.Rename(filepath.Join(dir, "set-000002", "rank-0"), filepath.Join(dir, rank1)))
			b, err := os.ReadFile(filepath.Join(dir, rank1))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "set-000002", "rank-0"), b, 0o600))
		}, checkpoint.ErrForeign, "rank-1: foreign checkpoint: it is of rank 0 of 2, safe point 20, set 2, build build-of-the on amd64 little with 16 tasks, not of rank 1 of 2"},
		{"of another set", func(t *testing.T, dir string) {
			require.NoError(t, os.Rename(filepath.Join(dir, "set-000001", "rank-1"), filepath.Join(dir, rank1)))
		}, checkpoint.ErrForeign, "it is of rank 1 of 2, safe point 10, set 1"},
		{"written again", func(t *testing.T, dir string) {
			h := checkpoint.Header{Job: ours, Set: 2, Cut: 20, Rank: 1}
			_, err := checkpoint.Write(t.Context(), dir, h, nil, image(t, 201))
			require.NoError(t, err)
		}, checkpoint.ErrForeign, "it is whole, but not the file that its set was completed with"},
		{"index gone", func(t *testing.T, dir string) { require.NoError(t, os.Remove(filepath.Join(dir, index))) }, checkpoint.ErrIncomplete, "the set is incomplete"},
		{"bit of the index", edit(index, flip(20)), checkpoint.ErrCorrupt, "its index: corrupt state: it is not as it was written"},
		{"index cut off", edit(index, func(b []byte) []byte { return b[:len(b)/2] }), checkpoint.ErrCorrupt, "its index"},
		{"renamed set", func(t *testing.T, dir string) {
			require.NoError(t, os.Rename(filepath.Join(dir, "set-000002"), filepath.Join(dir, "set-000007")))
		}, checkpoint.ErrForeign, "set-000007 is not used: foreign checkpoint: its index is that of set 2"},
		{"another program", func(t *testing.T, dir string) {
			require.NoError(t, os.RemoveAll(filepath.Join(dir, "set-000002")))
			writeSet(t, dir, 2, another, true)
		}, checkpoint.ErrProgram, "it was made by example.org/another, this is example.org/program"},
		{"other arguments", func(t *testing.T, dir string) {
			require.NoError(t, os.RemoveAll(filepath.Join(dir, "set-000002")))
			writeSet(t, dir, 2, smaller, true)
		}, checkpoint.ErrArguments, "it was made with `-nx 32`, this job has `-nx 64 \"a b\"`"},
		{"other ranks", func(t *testing.T, dir string) {
			require.NoError(t, os.RemoveAll(filepath.Join(dir, "set-000002")))
			writeSet(t, dir, 2, wider, true)
		}, checkpoint.ErrForeign, "it was made by 3 ranks, this job has 2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			writeSet(t, dir, 1, ours, true)
			writeSet(t, dir, 2, ours, true)
			tt.spoil(t, dir)
			s, refused, err := checkpoint.Latest(dir, ours)
			require.NotEmpty(t, refused)
			require.ErrorIs(t, refused[0], tt.is)
			require.ErrorContains(t, refused[0], tt.want)
			if tt.name == "of another set" {
				require.ErrorContains(t, err, "there is no usable checkpoint in "+dir)
				return // the older set has lost a file
			}
			require.NoError(t, err)
			require.Equal(t, uint64(1), s.Number)
			_, im, err := checkpoint.Read(dir, s, 1)
			require.NoError(t, err)
			require.Equal(t, image(t, 101).Manifest(), im.Manifest())
		})
	}
	dir := t.TempDir()
	_, _, err := checkpoint.Latest(dir, ours)
	require.EqualError(t, err, "there is no checkpoint in "+dir)
	writeSet(t, dir, 1, another, true)
	_, err = checkpoint.Next(dir, ours)
	require.ErrorIs(t, err, checkpoint.ErrProgram)
	require.ErrorContains(t, err, "choose another directory")
}

// Another build of the program may continue from a set. So may a caller that names neither
// the program nor its arguments.
func TestAllowedDifferences(t *testing.T) {
	dir := t.TempDir()
	writeSet(t, dir, 1, ours, true)
	for _, change := range []func(j *checkpoint.Job){
		func(j *checkpoint.Job) { j.Build = "built anew" },
		func(j *checkpoint.Job) { j.Program, j.Args = "", "" },
		func(j *checkpoint.Job) { j.Run = checkpoint.NewRun(time.Now()) },
	} {
		job := ours
		change(&job)
		s, refused, err := checkpoint.Latest(dir, job)
		require.NoError(t, err)
		require.Empty(t, refused)
		require.Equal(t, ours, s.Job)
		_, err = checkpoint.Next(dir, job)
		require.NoError(t, err)
	}
	none := ours
	none.Args = checkpoint.EncodeArgs(nil)
	_, _, err := checkpoint.Latest(dir, none)
	require.ErrorIs(t, err, checkpoint.ErrArguments)
	require.ErrorContains(t, err, "it was made with `-nx 64 \"a b\"`, this job has no arguments")
}

// If a folder has sets of several jobs, it is unclear which job is meant, even if the sets
// of the newer job are unusable. The user can name one set.
func TestSetsOfSeveralJobs(t *testing.T) {
	older, newer := ours, ours
	older.Run, newer.Run = "2026-01-02T03:04:05Z-1", "2026-01-02T03:05:00Z-2"
	for _, complete := range []bool{true, false} {
		dir := t.TempDir()
		writeSet(t, dir, 1, older, true)
		s, _, err := checkpoint.Latest(dir, ours)
		require.NoError(t, err)
		require.EqualValues(t, 1, s.Number)
		writeSet(t, dir, 2, newer, complete)
		_, _, err = checkpoint.Latest(dir, ours)
		require.ErrorIs(t, err, checkpoint.ErrSeveral)
		require.ErrorContains(t, err, "set-000002 of the job begun 2026-01-02 03:05:00 UTC (")
		require.ErrorContains(t, err, "set-000001 of the job begun 2026-01-02 03:04:05 UTC (safe point 10)")
		require.ErrorContains(t, err, "name the set to continue from, like "+filepath.Join(dir, "set-00000"))
		one := filepath.Join(dir, "set-000001")
		s, refused, err := checkpoint.Latest(one, ours)
		require.NoError(t, err)
		require.Empty(t, refused)
		require.EqualValues(t, 1, s.Number)
		require.Equal(t, dir, checkpoint.Directory(one))
		require.Equal(t, dir, checkpoint.Directory(dir))
	}
}

// A file with any single byte changed, or truncated at any byte, is refused.
func TestEveryByteCounts(t *testing.T) {
	dir := t.TempDir()
	one := ours
	one.Ranks = 1
	writeSet(t, dir, 1, one, true)
	s, _, err := checkpoint.Latest(dir, one)
	require.NoError(t, err)
	path := filepath.Join(dir, "set-000001", "rank-0")
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	for i := range whole {
		b := slices.Clone(whole)
		b[i] ^= 1 << (i % 8)
		require.NoError(t, os.WriteFile(path, b, 0o600))
		_, _, err := checkpoint.Read(dir, s, 0)
		require.Error(t, err, "byte %d changed", i)
		require.NoError(t, os.WriteFile(path, whole[:i], 0o600))
		_, _, err = checkpoint.Read(dir, s, 0)
		require.Error(t, err, "cut off at %d", i)
	}
	require.NoError(t, os.WriteFile(path, whole, 0o600))
	_, _, err = checkpoint.Read(dir, s, 0)
	require.NoError(t, err)
}

func TestIncompleteSetIsNotCompleted(t *testing.T) {
	s := checkpoint.Set{Job: ours, Number: 1, Files: []checkpoint.File{{Rank: 1}}}
	require.ErrorContains(t, s.Complete(t.TempDir()), "complete checkpoint set 1: it has 1 files for 2 ranks")
	s.Files = []checkpoint.File{{Rank: 1}, {Rank: 1}}
	require.Error(t, s.Complete(t.TempDir()))
}

// The file holds the state at the time of Start, even if the program changes its memory
// afterwards.
func TestWriterWritesACopy(t *testing.T) {
	dir := t.TempDir()
	one := ours
	one.Ranks = 1
	type result struct {
		h   checkpoint.Header
		f   checkpoint.File
		err error
	}
	done := make(chan result)
	w := checkpoint.NewWriter(t.Context(), dir, "", nil, func(h checkpoint.Header, f checkpoint.File, err error) { done <- result{h, f, err} })
	x := make([]float64, 3*checkpoint.ChunkBytes/8)
	var st checkpoint.State
	require.NoError(t, st.Add("x", &x))
	for number := uint64(1); number <= 3; number++ {
		x[0] = float64(number)
		im, err := st.Image()
		require.NoError(t, err)
		was := im.Manifest()
		h := checkpoint.Header{Job: one, Set: number, Cut: number}
		require.NoError(t, w.Start(h, nil, im))
		x[0] = -1
		r := <-done
		require.NoError(t, r.err)
		require.Equal(t, h, r.h)
		s := checkpoint.Set{Job: one, Number: number, Cut: number, Files: []checkpoint.File{r.f}}
		require.NoError(t, s.Complete(dir))
		_, got, err := checkpoint.Read(dir, &s, 0)
		require.NoError(t, err)
		require.Equal(t, was, got.Manifest())
	}
	w.Wait()
	require.Equal(t, []string{"set-000002", "set-000003"}, names(t, dir))
}

func TestWriterFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	ctx, cancel := context.WithCancelCause(t.Context())
	errs := make(chan error)
	done := func(_ checkpoint.Header, _ checkpoint.File, err error) { errs <- err }
	h := checkpoint.Header{Job: ours, Set: 1, Cut: 7, Rank: 1}
	w := checkpoint.NewWriter(ctx, filepath.Join(file, "below"), "", nil, done)
	require.NoError(t, w.Start(h, nil, image(t, 1)))
	err := <-errs
	require.ErrorContains(t, err, "write the checkpoint of rank 1 at safe point 7: ")
	require.ErrorContains(t, err, "not a directory")
	w.Wait()

	dir := t.TempDir()
	w = checkpoint.NewWriter(ctx, dir, "", nil, done)
	cancel(fmt.Errorf("the job has ended"))
	require.NoError(t, w.Start(h, nil, image(t, 1)))
	require.ErrorContains(t, <-errs, "the job has ended")
	w.Wait()
	require.NoDirExists(t, filepath.Join(dir, "set-000001"), "no file of it is left")
}

// A file gets its name only when may agrees. By then its contents are on disk.
func TestWriterAsksBeforeTheName(t *testing.T) {
	dir := t.TempDir()
	h := checkpoint.Header{Job: ours, Set: 1, Cut: 7, Rank: 1}
	asked, answer, errs := make(chan []string), make(chan error), make(chan error)
	w := checkpoint.NewWriter(t.Context(), dir, "", func(context.Context) error {
		asked <- names(t, filepath.Join(dir, "set-000001"))
		return <-answer
	}, func(_ checkpoint.Header, _ checkpoint.File, err error) { errs <- err })
	for _, no := range []error{errors.New("not now"), nil} {
		require.NoError(t, w.Start(h, nil, image(t, 1)))
		there := <-asked
		require.Len(t, there, 1)
		require.NotEqual(t, "rank-1", there[0])
		answer <- no
		err := <-errs
		require.ErrorIs(t, err, no)
		w.Wait()
		if no == nil {
			require.Equal(t, []string{"rank-1"}, names(t, filepath.Join(dir, "set-000001")))
		} else {
			require.NoDirExists(t, filepath.Join(dir, "set-000001"))
		}
	}
}
