package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/intrahpc/intra/internal/checkpoint"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
	"github.com/intrahpc/intra/internal/runreport"
)

// Checkpoint says that the state of the job is put into files.
type Checkpoint struct {
	Dir   string
	Every uint64 // safe points from one set of files to the next
}

// files is the head's part in checkpoint files. Of which job they are is known
// once the first process has joined; until they are opened, processes wait for
// their places.
type files struct {
	*head
	asked, known bool
	waiting      []*member

	write   *job.Files   // nil: none are written
	first   uint64       // number of the first set
	restart *job.Restart // nil: the program begins anew
	refused []string     // sets that were newer
	sets    []runreport.FileSet
	given   []runreport.AbandonedSet
}

// validateFiles finds what is wrong with the folders before anything is started.
func (c *Config) validateFiles() error {
	for _, f := range []struct {
		flag, dir string
		needed    bool
	}{
		{"restart", c.Restart, true},
		{"checkpoint", c.Checkpoint.dir(), false},
	} {
		if f.dir == "" {
			continue
		}
		switch st, err := os.Stat(f.dir); {
		case err != nil && (f.needed || !os.IsNotExist(err)):
			return fmt.Errorf("-%s %s: %w", f.flag, f.dir, err)
		case err == nil && !st.IsDir():
			return fmt.Errorf("-%s %s: it is not a folder", f.flag, f.dir)
		case err != nil:
			if err := os.MkdirAll(f.dir, 0o777); err != nil {
				return fmt.Errorf("-%s %s: %w", f.flag, f.dir, err)
			}
		}
	}
	return nil
}

func (c *Checkpoint) dir() string {
	if c == nil {
		return ""
	}
	return c.Dir
}

// newFiles returns nil if files are neither written nor read.
func (h *head) newFiles() *files {
	if h.config.Checkpoint == nil && h.config.Restart == "" {
		return nil
	}
	return &files{head: h, refused: []string{}, sets: []runreport.FileSet{}, given: []runreport.AbandonedSet{}}
}

// wait keeps a process waiting while it is not known with which files the job
// begins.
func (f *files) wait(m *member) bool {
	if f == nil || f.known {
		return false
	}
	f.waiting = append(f.waiting, m)
	if !f.asked {
		f.asked = true
		of := m.hello.Files(len(f.config.Degrees))
		go func() {
			found, err := f.config.open(of)
			f.post(func() { f.opened(found, err) })
		}()
	}
	return true
}

// unknown reports whether processes still wait.
func (f *files) unknown() bool { return f != nil && !f.known }

// found is what there is in the folders.
type found struct {
	write   *job.Files
	first   uint64
	restart *job.Restart
	refused []error
}

// open looks for files. It reads those of a restart to their ends.
func (c *Config) open(of checkpoint.Job) (x found, err error) {
	if c.Restart != "" {
		dir, err := filepath.Abs(c.Restart)
		if err != nil {
			return x, fmt.Errorf("-restart: %w", err)
		}
		set, refused, err := checkpoint.Latest(dir, of)
		if err != nil {
			return x, fmt.Errorf("-restart: %w", err)
		}
		x.restart, x.refused = &job.Restart{Dir: dir, Set: *set}, refused
	}
	if c.Checkpoint != nil {
		dir, err := filepath.Abs(c.Checkpoint.Dir)
		if err == nil {
			x.first, err = checkpoint.Next(dir, of)
		}
		if err != nil {
			return x, fmt.Errorf("-checkpoint: %w", err)
		}
		x.write = &job.Files{Dir: dir, Job: of}
	}
	return x, nil
}

// opened gives the processes that have waited their places.
func (f *files) opened(x found, err error) {
	if f.phase != joining {
		return
	}
	if err != nil { // the processes still wait for their places, and are not to blame
		f.phase = over
		f.ledger.decide(ExitRefused, "the job is refused: "+strings.ReplaceAll(err.Error(), "\n", "; "))
		f.warnf("%s", f.ledger.text)
		f.killAll()
		return
	}
	for _, why := range x.refused {
		f.warnf("warning: %v", why)
		f.refused = append(f.refused, why.Error())
	}
	f.write, f.first, f.restart, f.known = x.write, x.first, x.restart, true
	f.inherited().keep(f.head)
	if r := f.restart; r != nil {
		f.eventf("the job continues from safe point %d, set %d of %s", r.Set.Cut, r.Set.Number, r.Dir)
	}
	if f.recovery = f.newRecoveryDriver(); f.recovery != nil {
		for _, m := range f.order {
			if m.gone && !m.spare {
				f.recovery.died(m, m.cause().cause)
			}
		}
	}
	for _, m := range f.waiting {
		if !m.gone {
			f.place(m)
		}
	}
	f.waiting = nil
	f.startIfReady()
}

// configure adds to what recovery is told.
func (f *files) configure(c *recovery.Config) {
	if f == nil {
		return
	}
	if f.restart != nil {
		c.From = f.restart.Set.Cut
	}
	if f.write != nil {
		c.Files = recovery.Files{Every: f.config.Checkpoint.Every, First: f.first}
	}
}

// describe adds to what a process is told of its place.
func (f *files) describe(s *job.Setup) {
	if f == nil {
		return
	}
	if s.Files = f.write; !s.Joiner {
		s.Restart = f.restart
	}
}

// publish makes a set complete, beside what the head does otherwise. The job
// does not end before.
func (f *files) publish(a recovery.Action) {
	set := &checkpoint.Set{Job: f.write.Job, Number: a.Set, Cut: a.Cut, Files: a.Files}
	f.left++
	f.keepSet(a.Set, &setNote{Whole: wholeSet(a.Files)}, func() {
		go func() {
			err := set.Complete(f.write.Dir)
			f.post(func() {
				f.left--
				f.published(set, err)
			})
		}()
	})
}

func (f *files) published(set *checkpoint.Set, err error) {
	if err != nil {
		f.abandon(set.Number, err.Error())
	} else {
		done := runreport.FileSet{Set: set.Number, Point: set.Cut, At: f.elapsed().Seconds()}
		for _, file := range set.Files {
			done.Bytes += file.Bytes
		}
		f.keepSet(set.Number, &setNote{Complete: &done}, func() {
			f.sets = append(f.sets, done)
			f.eventf("checkpoint set %d is complete: safe point %d, %.1f MB", set.Number, set.Cut, float64(done.Bytes)/1e6)
		})
	}
	f.recovery.decides.Published(set.Number)
}

// abandon notes that a set will not be complete.
func (f *files) abandon(set uint64, why string) {
	gone := runreport.AbandonedSet{Set: set, Why: shorten(why)}
	f.keepSet(set, &setNote{Abandoned: &gone}, func() {
		f.given = append(f.given, gone)
		f.warnf("warning: checkpoint set %d is abandoned: %s", set, why)
	})
}

// hint says, at the end of a job that was lost, how it can go on.
func (f *files) hint(code int) {
	if f == nil || f.retired || code == ExitOK || code == ExitDiverged {
		return
	}
	if n := len(f.sets); n > 0 {
		f.warnf("the state at safe point %d is on disk: -restart %s continues from there", f.sets[n-1].Point, f.config.Checkpoint.Dir)
	}
}

// reports returns the parts of the report.
func (f *files) reports() (*runreport.Checkpoint, *runreport.Restart) {
	var c *runreport.Checkpoint
	var r *runreport.Restart
	if f != nil && f.write != nil {
		c = &runreport.Checkpoint{Dir: f.write.Dir, Sets: f.sets, Abandoned: f.given}
	}
	if f != nil && f.restart != nil {
		r = &runreport.Restart{Dir: f.restart.Dir, Set: f.restart.Set.Number, Point: f.restart.Set.Cut, Refused: f.refused}
	}
	return c, r
}
