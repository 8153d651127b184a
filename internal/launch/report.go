package launch

import (
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/base/cure"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
)

// conclude reports the end of the job, and returns the exit code.
func (d *driver) conclude() int {
	finished := time.Now()
	d.do(d.head.Conclude())
	s := d.head.Summary()
	code := s.Code
	failed := func(err error) {
		if err == nil {
			return
		}
		d.console.Notef("intrarun: %v", cure.Write(err))
		if code == ExitOK {
			code = ExitFailed
		}
	}
	dropped, err := d.trace.Close(s.Started)
	if failed(err); err == nil && dropped > 0 {
		d.warnf("the timeline lacks %d events, the oldest ones; -trace-limit lets it be larger", dropped)
	}
	if s.Files != nil && !s.Retired {
		err := d.folder.hold(s.Files.Dir)
		if err == nil {
			err = checkpoint.Sweep(s.Files.Dir, s.FirstSet)
		}
		if err != nil {
			d.warnf("warning: %v", err)
		}
	}
	if !s.Started {
		return code
	}
	d.console.Flush()
	if err := d.console.Lost(); err != nil {
		err = fmt.Errorf("output of the job is lost: %w", err)
		if failed(err); s.Text == "" {
			s.Text = err.Error()
		}
	}
	r := d.report(&s, finished)
	r.ExitCode, d.final = code, r
	if d.job.Verbose {
		at := d.elapsed()
		r.Describe(func(format string, args ...any) {
			d.say(head.Log{Level: head.Detail, At: at, Text: fmt.Sprintf(format, args...)})
		})
	}
	if d.job.Report != "" && code != ExitHandedOver && !d.reported(&s) {
		failed(d.job.writeReport(r, d.reportTo, d.console.Notef))
	}
	if d.page != nil && !s.Retired { // a retired head no longer serves the page; another head does
		d.page.End(r)
	}
	return code
}

// reported reports whether this head has retired and another head has already written the
// report.
func (d *driver) reported(s *head.Summary) bool {
	st, err := os.Stat(d.job.Report)
	return s.Retired && err == nil && st.ModTime().After(d.began)
}

// report returns the report of the job at the time finished.
func (d *driver) report(s *head.Summary, finished time.Time) *runreport.Report {
	r := &runreport.Report{
		Error: s.Text, Ranks: len(d.job.Degrees), Degrees: s.Degrees,
		Link:       d.job.Links.Kind,
		MPI:        s.MPI,
		Limit:      d.job.Links.Limit,
		Threads:    max(d.job.Threads, 1),
		Direct:     s.Direct,
		Failures:   s.Failures,
		Kills:      s.Kills,
		SDC:        s.SDC,
		Flips:      s.Flips,
		Diverge:    s.Diverge,
		Weibull:    s.Weibull,
		Checkpoint: s.Files,
		Restart:    s.Restart,
		Recovery:   s.Recovery,
		Processes:  []runreport.Process{},
		TaskTypes:  make(map[string]runreport.TaskType),
	}
	if !slices.Equal(s.Degrees, d.job.Degrees) {
		r.Most = d.job.Degrees
	}
	if s.MPI != nil && !d.job.Links.MPIBetween {
		r.Link = job.LinkMPI
	}
	if s.HasJoined {
		r.Joined = d.began.Add(s.Joined)
		r.WallSeconds = finished.Sub(r.Joined).Seconds()
	}
	for _, p := range s.Processes {
		if p.Known {
			r.IntraTag = p.Tag
		}
		r.Add(p.Process, p.Stats)
	}
	return r
}
