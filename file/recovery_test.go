package file_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/file"
	"github.com/intrahpc/intra/internal/testkit/jobtest"
	"github.com/intrahpc/intra/intratest"
)

// steps is the number of passes that writer makes.
const steps = 12

var taskText = intra.Register("file.text")

// text computes a text in a section whose results stay where they were computed, if the job keeps
// results.
func text(p *intra.Process, to []byte, text string) error {
	s := p.Section(intra.Keep)
	for lo, hi := range intra.Blocks(len(to), 3) {
		s.Launch(taskText, func() { copy(to[lo:hi], text[lo:hi]) }, intra.Out("text", to[lo:hi]))
	}
	return s.End()
}

// writer is a program that keeps files open across safe points: a field of all ranks that
// is overwritten in each pass, a log of all ranks, a file for each rank, and one that is
// closed and made again in the middle. It reads back what it has overwritten.
func writer(p *intra.Process, dir string) error {
	pass := 0
	part, old := make([]byte, 6), make([]byte, 6)
	intra.Protect(p, "pass", &pass)
	intra.Protect(p, "part", &part)
	intra.Protect(p, "old", &old)
	field, err := file.Create(p, p.World(), filepath.Join(dir, "field"))
	if err != nil {
		return err
	}
	log, err := file.Append(p, p.World(), filepath.Join(dir, "log"))
	if err != nil {
		return err
	}
	own, err := file.Append(p, nil, filepath.Join(dir, fmt.Sprint("rank", p.Rank())))
	if err != nil {
		return err
	}
	var half *file.File
	if pass <= steps/2 { // a restored process does this, too

		if half, err = file.Create(p, p.World(), filepath.Join(dir, "half")); err != nil {
			return err
		}
	}
	for ; pass < steps; pass++ {
		if err := p.SafePoint(); err != nil {
			return err
		}
		sum, err := comm.AllreduceValue(p.World(), pass, comm.Sum) // processes die in this call
		if err != nil {
			return err
		}
		if pass == steps/2 && half != nil {
			if err := half.Close(); err != nil {
				return err
			}
			half = nil
		}
		if half != nil {
			if err := half.WriteAtAll(fmt.Appendf(nil, "%3d", pass), int64(3*p.Rank())); err != nil {
				return err
			}
		}
		if err := errors.Join(text(p, old, "------"), text(p, part, fmt.Sprintf("%2d %2d ", p.Rank(), pass))); err != nil {
			return err
		}
		if pass > 0 {
			if err := field.ReadAtAll(old, int64(6*p.Rank())); err != nil {
				return err
			}
			if want := fmt.Sprintf("%2d %2d ", p.Rank(), pass-1); string(old) != want {
				return fmt.Errorf("pass %d reads %q, want %q", pass, old, want)
			}
		}
		if err := field.WriteAtAll(part, int64(6*p.Rank())); err != nil {
			return err
		}
		if err := log.WriteAll(fmt.Appendf(nil, "%d of %d: %d\n", pass, p.Rank(), sum)); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(own, pass); err != nil {
			return err
		}
	}
	return errors.Join(field.Close(), log.Close(), own.Close())
}

// wrote checks the files that writer has written.
func wrote(t *testing.T, dir string, ranks int) {
	t.Helper()
	field, log, own, half := "", "", "", ""
	for pass := range steps {
		for r := range ranks {
			log += fmt.Sprintf("%d of %d: %d\n", pass, r, pass*ranks)
		}
		own += fmt.Sprintln(pass)
	}
	want := []string{"field", "half", "log"}
	for r := range ranks {
		field += fmt.Sprintf("%2d %2d ", r, steps-1)
		half += fmt.Sprintf("%3d", steps/2-1)
		want = append(want, fmt.Sprint("rank", r))
		require.Equal(t, own, contents(t, filepath.Join(dir, fmt.Sprint("rank", r))))
	}
	require.Equal(t, field, contents(t, filepath.Join(dir, "field")))
	require.Equal(t, half, contents(t, filepath.Join(dir, "half")))
	require.Equal(t, log, contents(t, filepath.Join(dir, "log")))
	all, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range all {
		names = append(names, e.Name())
	}
	require.Equal(t, want, names)
}

func TestFilesOpenAcrossSafePoints(t *testing.T) {
	for _, c := range []struct {
		name string
		spec intra.Spec
		opts []intratest.Option
	}{
		{"no failures", intra.Spec{Ranks: 2, Replicas: 2}, nil},
		{"backups without a rollback", intra.Spec{Ranks: 2, Replicas: 2}, []intratest.Option{intratest.Backup(2)}},
		{"the writer dies", intra.Spec{Ranks: 2, Replicas: 2}, []intratest.Option{intratest.Kills("0.0@message:7", "1.1@message:12")}},
		{"the writer is replaced", intra.Spec{Ranks: 2, Replicas: 2}, []intratest.Option{intratest.Replace(), intratest.Kills("0.0@message:7")}},
		{"rollback", intra.Spec{Ranks: 2, Replicas: 1}, []intratest.Option{intratest.Replace(), intratest.Backup(2), intratest.Kills("0.0@message:60")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			intratest.Run(t, c.spec, func(p *intra.Process) error { return writer(p, dir) }, c.opts...)
			wrote(t, dir, 2)
		})
	}
}

// After any number of deaths and rollbacks, the files are those of a run without failures.
func TestFilesAfterRandomFailures(t *testing.T) {
	for seed := range uint64(jobtest.Count(20, 200)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 51))
			spec := intra.Spec{Ranks: 1 + random.IntN(3), Replicas: 1 + random.IntN(2)}
			var kills []string
			for i := range 1 + random.IntN(3) { // far apart: two deaths at once may destroy a backup
				kills = append(kills, fmt.Sprintf("%d.%d@message:%d", random.IntN(spec.Ranks), random.IntN(spec.Replicas), 60+50*i+random.IntN(25)))
			}
			dir := t.TempDir()
			intratest.Run(t, spec, func(p *intra.Process) error { return writer(p, dir) },
				intratest.Replace(), intratest.Backup(uint64(1+random.IntN(3))), intratest.MayKill(kills...))
			wrote(t, dir, spec.Ranks)
		})
	}
}

// A job that rolls back to a safe point before its first Create leaves no temporary file of that
// Create.
func TestRollbackBeforeTheFirstCreate(t *testing.T) {
	for n := range 12 {
		dir := t.TempDir()
		intratest.Run(t, intra.Spec{Ranks: 2, Replicas: 1}, func(p *intra.Process) error {
			pass := 0
			intra.Protect(p, "pass", &pass)
			for ; pass < 10; pass++ {
				if err := p.SafePoint(); err != nil {
					return err
				}
				for range 4 { // steps in which processes die
					if _, err := comm.AllreduceValue(p.World(), pass, comm.Sum); err != nil {
						return err
					}
				}
				if pass < 6 {
					continue
				}
				f, err := file.Create(p, p.World(), filepath.Join(dir, "field"))
				if err != nil {
					return err
				}
				if err := f.WriteAtAll([]byte("field"), int64(5*p.Rank())); err != nil {
					return err
				}
				if err := f.Close(); err != nil {
					return err
				}
			}
			return nil
		}, intratest.Replace(), intratest.Backup(3), intratest.MayKill(fmt.Sprintf("0.0@message:%d", 25+n)))
		all, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, all, 1, "message %d: %v", 25+n, all)
		require.Equal(t, "fieldfield", contents(t, filepath.Join(dir, "field")))
	}
}

// A job that rolls back while the ranks close a file continues the file.
func TestRollbackDuringClose(t *testing.T) {
	for k := 6; k < 14; k++ { // from the first complete backup to the last message
		dir := t.TempDir()
		intratest.Run(t, intra.Spec{Ranks: 2, Replicas: 1}, func(p *intra.Process) error {
			pass := 0
			intra.Protect(p, "pass", &pass)
			f, err := file.Create(p, p.World(), filepath.Join(dir, "field"))
			if err != nil {
				return err
			}
			for ; pass < 2; pass++ {
				if err := p.SafePoint(); err != nil {
					return err
				}
				if err := f.WriteAtAll(fmt.Append(nil, pass), int64(p.Rank()+2*pass)); err != nil {
					return err
				}
			}
			return f.Close()
		}, intratest.Replace(), intratest.Backup(1), intratest.MayKill(fmt.Sprintf("1.0@message:%d", k)))
		require.Equal(t, "0011", contents(t, filepath.Join(dir, "field")), "message %d", k)
	}
}
