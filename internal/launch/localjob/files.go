package localjob

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

// open determines where the job writes its files, and from which files it restarts.
func (l *localJob) open(a head.Open) head.Opened {
	found, err := l.find(a.Job)
	if err != nil {
		l.refused = err
		return head.Opened{Err: err.Error()}
	}
	return head.Opened{Found: found}
}

func (l *localJob) find(of checkpoint.Job) (*decision.Folders, error) {
	found := new(decision.Folders)
	if dir := l.want.Restart; dir != "" {
		set, refused, err := checkpoint.Latest(dir, of)
		if err != nil {
			return nil, err
		}
		var why []string
		for _, err := range refused {
			why = append(why, err.Error())
		}
		found.Restart = decision.NewRestart(&job.Restart{Dir: dir, Set: *set}, why)
	}
	if l.want.Every > 0 {
		lock, err := checkpoint.Take(l.want.Files, checkpoint.NewOwner(filepath.Base(os.Args[0]), true))
		if err != nil {
			return nil, fmt.Errorf("write checkpoints to %s: %w", l.want.Files, err)
		}
		l.lock = lock
		first, err := checkpoint.Next(l.want.Files, of)
		if err != nil {
			return nil, err
		}
		found.Write, found.First = &job.Files{Dir: l.want.Files, Job: of}, first
	}
	return found, nil
}

// leaveFolder removes incomplete sets and releases the folder. If a set cannot be removed,
// that is only a warning, since the results of the job are right.
func (l *localJob) leaveFolder(s *head.Summary) {
	defer l.lock.Release()
	if s.Files == nil {
		return
	}
	if err := checkpoint.Sweep(s.Files.Dir, s.FirstSet); err != nil {
		l.want.Warnings = append(l.want.Warnings, err.Error())
	}
}

// publish completes a set of files.
func publish(a head.Publish) head.Published {
	done := head.Published{Set: a.Set}
	if err := a.Set.Complete(a.Dir); err != nil {
		done.Err = err.Error()
	}
	return done
}
