package intratest

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/internal/base/bridge"
	"github.com/intrahpc/intra/internal/job"
)

// Report describes the events of a job.
type Report struct {
	Err      error // error of the job
	Deaths   []string
	Sections int64 // sections completed, by all processes
	Run      int64 // task bodies run
	Received int64 // results received from a peer
	Rerun    int64 // tasks run in place of a dead peer
	Torn     int64 // partially received updates
	Images   int64 // settled points, of all processes (Lag)
	// Replaced lists the processes that replaced dead ones, in the order in which they
	// joined. Rollbacks counts how often the job rolled back to a backup.
	Replaced  []string
	Rollbacks int
	// Sets are the numbers of the sets of checkpoint files that were completed.
	// Warnings names those that were not, or could not be used.
	Sets     []uint64
	Warnings []string
	// Tasks counts the bodies run by the last process in each slot.
	Tasks map[string]int64
}

// Option changes a job.
type Option func(*testing.T, *options)

// options holds the settings that an Option changes.
type options struct {
	local job.Local
	fails bool
	// mayMiss allows kill points that are not reached.
	mayMiss bool
}

func init() {
	bridge.Receive = func(way int) any {
		return Option(func(_ *testing.T, o *options) { o.local.Receive = job.Receive(way) })
	}
}

// Kills kills replicas, each at a point written as for the -kill flag of
// intrarun: RANK.REPLICA@section:K, task:K, update:K, message:K, link:K, file:K,
// join:STEP or backup:STEP. The test fails if a point is not reached.
func Kills(kills ...string) Option {
	return func(t *testing.T, o *options) {
		for _, s := range kills {
			k, err := job.ParseKill(s)
			if err != nil {
				t.Fatal(err)
			}
			if k.Point == job.KillAfter {
				t.Fatalf("a time is no kill point in a test: %s", s)
			}
			o.local.Kills = append(o.local.Kills, k)
		}
	}
}

// MayKill works like Kills, but the points need not be reached.
func MayKill(kills ...string) Option {
	return func(t *testing.T, o *options) {
		Kills(kills...)(t, o)
		o.mayMiss = true
	}
}

// Sched overrides the schedule of every section: static, adaptive, replicate.
func Sched(policy string) Option {
	return func(_ *testing.T, o *options) { o.local.Sched = policy }
}

// Lag lets the results of sections with intra.Keep stay where they were computed, as the -lag
// flag of intrarun does. Each replica overwrites what it lacks, so that a program without a
// necessary intra.Fetch computes wrong results.
func Lag(d time.Duration) Option {
	return func(_ *testing.T, o *options) { o.local.Lag = d }
}

// Threads makes n workers run the tasks of each replica, as the -threads flag of intrarun
// does.
func Threads(n int) Option {
	return func(_ *testing.T, o *options) { o.local.Threads = n }
}

// Capacity bounds the bytes under way between two processes over in-memory
// links. An update that does not fit can be torn by a death.
func Capacity(bytes int) Option {
	return func(_ *testing.T, o *options) { o.local.Capacity = bytes }
}

// Replace lets new processes replace killed ones: at safe points, with the
// state of a live replica.
func Replace() Option { return func(_ *testing.T, o *options) { o.local.Replace = true } }

// Backup sets the number of safe points from one backup to the next. The job rolls back to
// the last backup when a rank has lost all its replicas. This requires Replace, since the
// lost processes must be replaced.
func Backup(every uint64) Option {
	return func(_ *testing.T, o *options) { o.local.Backup = every }
}

// Checkpoint writes the state of the job to files in dir. every is the number of safe
// points from one set of files to the next.
func Checkpoint(dir string, every uint64) Option {
	return func(_ *testing.T, o *options) { o.local.Files, o.local.Every = dir, every }
}

// Restart begins the job with the newest usable files in dir. Its degrees may
// differ from those of the job that wrote them.
func Restart(dir string) Option {
	return func(_ *testing.T, o *options) { o.local.Restart = dir }
}

// Fails allows the job to fail; its error is in the report.
func Fails() Option { return func(_ *testing.T, o *options) { o.fails = true } }

// untagged returns a hint if the test was built without the tag intra, because the missing
// tag may be the reason why a program has not shared its sections.
func untagged() string {
	if intra.Tagged {
		return ""
	}
	return ": this test was built without the tag intra, so that sections which are annotated run as plain loops; use go test -tags intra"
}

// Run runs a job in this process, and fails the test if the job fails. Each replica of each
// rank is a goroutine that calls run. Variables outside of run are shared by these
// goroutines, so run may write them only in ways that are safe for concurrent use.
func Run(t *testing.T, spec intra.Spec, run func(*intra.Process) error, opts ...Option) Report {
	t.Helper()
	var o options
	for _, opt := range opts {
		opt(t, &o)
	}
	err := intra.Run(job.WithLocal(context.Background(), &o.local), spec, run)
	if err != nil && !o.fails {
		t.Fatal(err)
	}
	r := Report{Err: err}
	for i, fired := range o.local.Fired {
		if !fired && !o.mayMiss {
			t.Fatalf("kill %s was not reached%s", o.local.Kills[i], untagged())
		}
	}
	for _, v := range o.local.Verdicts {
		r.Deaths = append(r.Deaths, v.Process.String())
	}
	for _, p := range o.local.Joined {
		r.Replaced = append(r.Replaced, p.String())
	}
	r.Rollbacks, r.Sets, r.Warnings = o.local.Rollbacks, o.local.Sets, o.local.Warnings
	r.Tasks = make(map[string]int64)
	for p, s := range o.local.Stats {
		r.Tasks[p.String()] = s.TasksRun
	}
	for _, s := range slices.AppendSeq(o.local.Former, maps.Values(o.local.Stats)) {
		r.Sections += s.Sections
		r.Run += s.TasksRun
		r.Received += s.TasksReceived
		r.Rerun += s.TasksRerun
		r.Torn += s.UpdatesTorn
		r.Images += s.Images
	}
	return r
}
