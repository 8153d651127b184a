package localjob

import (
	"github.com/intrahpc/intra/internal/checkpoint"
	"github.com/intrahpc/intra/internal/decision"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/job"
)

// open finds out where the job writes its files, and with which ones it begins.
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
		first, err := checkpoint.Next(l.want.Files, of)
		if err != nil {
			return nil, err
		}
		found.Write, found.First = &job.Files{Dir: l.want.Files, Job: of}, first
	}
	return found, nil
}

// publish makes a set complete.
func publish(a head.Publish) head.Published {
	done := head.Published{Set: a.Set}
	if err := a.Set.Complete(a.Dir); err != nil {
		done.Err = err.Error()
	}
	return done
}
