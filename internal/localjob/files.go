package localjob

import (
	"github.com/intrahpc/intra/internal/checkpoint"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// openFiles finds out where a job in this process writes its files, and with
// which ones it begins.
func (l *localJob) openFiles(c *recovery.Config) error {
	if l.want.Every == 0 && l.want.Restart == "" {
		return nil
	}
	self, err := job.Describe(l.program.Hello.Tag, l.program.Hello.Tasks)
	if err != nil {
		return err
	}
	of := self.Files(len(l.degrees))
	if dir := l.want.Restart; dir != "" {
		set, refused, err := checkpoint.Latest(dir, of)
		l.want.Warnings = append(l.want.Warnings, refused...)
		if err != nil {
			return err
		}
		l.restart = &job.Restart{Dir: dir, Set: *set}
		c.From = set.Cut
	}
	if l.want.Every > 0 {
		l.files = &job.Files{Dir: l.want.Files, Job: of}
		c.Files.Every = l.want.Every
		if c.Files.First, err = checkpoint.Next(l.want.Files, of); err != nil {
			return err
		}
	}
	return nil
}

// publish makes a set complete.
func (l *localJob) publish(set *checkpoint.Set) {
	err := set.Complete(l.files.Dir)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.want.Warnings = append(l.want.Warnings, err)
	} else {
		l.want.Sets = append(l.want.Sets, set.Number)
	}
	l.recovery.Published(set.Number)
}
