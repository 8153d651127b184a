package jobtest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

// Report is the part of the report of a job that tests examine.
type Report struct {
	ExitCode     int           `json:"exit_code"`
	Error        string        `json:"error"`
	Failures     []Failure     `json:"failures"`
	Processes    []End         `json:"processes"`
	Kills        []Kill        `json:"kills"`
	Replacements []Replacement `json:"replacements"`
	Rollbacks    []struct {
		Lost      []int  `json:"lost"`
		SafePoint uint64 `json:"safe_point"`
	} `json:"rollbacks"`
	Backup *struct {
		Complete int `json:"complete"`
	} `json:"backup"`
	Checkpoint *struct {
		Sets []struct {
			Set   uint64 `json:"set"`
			Point uint64 `json:"safe_point"`
		} `json:"sets"`
		Abandoned []struct {
			Set uint64 `json:"set"`
			Why string `json:"why"`
		} `json:"abandoned"`
	} `json:"checkpoint"`
	Restart *struct {
		Point   uint64   `json:"safe_point"`
		Refused []string `json:"refused"`
	} `json:"restart"`
	Diverge *struct {
		Mode     string   `json:"mode"`
		Hashes   int64    `json:"hashes"`
		Compared int64    `json:"compared"`
		Seconds  float64  `json:"seconds"`
		Differed []string `json:"differed"`
	} `json:"diverge"`
	Threads       int                 `json:"threads"`
	Direct        []int               `json:"direct"`
	WallSeconds   float64             `json:"wall_seconds"`
	UpdatesLost   int64               `json:"updates_lost"`
	Links         int64               `json:"links"`
	UpdatesTorn   int64               `json:"updates_torn"`
	TasksRun      int64               `json:"tasks_run"`
	TasksReceived int64               `json:"tasks_received"`
	UpdateBytes   int64               `json:"update_bytes"`
	TaskTypes     map[string]TaskType `json:"task_types"`
}

// Failure is a death.
type Failure struct {
	Process job.Process `json:"process"`
	Cause   job.Cause   `json:"cause"`
	Detail  string      `json:"detail"`
}

// End is the life of a process.
type End struct {
	Process     job.Process `json:"process"`
	Incarnation uint32      `json:"incarnation"`
	Host        string      `json:"host"`
	End         string      `json:"end"`
	Sections    int64       `json:"sections"`
	TasksRun    int64       `json:"tasks_run"`
	Links       int64       `json:"links"`

	SecondRuns []job.SecondRun `json:"second_runs"`
}

// Kill is a requested kill.
type Kill struct {
	Process job.Process `json:"process"`
	When    string      `json:"when"`
	Fired   bool        `json:"fired"`
}

// Replacement is a process that replaced another one.
type Replacement struct {
	Process     job.Process `json:"process"`
	Incarnation uint32      `json:"incarnation"`
	Donor       job.Process `json:"donor"`
	Host        string      `json:"host"`
	Bytes       int64       `json:"bytes"`
}

// TaskType contains the sums over all tasks of one type.
type TaskType struct {
	WaitSeconds    float64 `json:"wait_seconds"`
	SectionSeconds float64 `json:"section_seconds"`
	Overlap        float64 `json:"overlap"`
	UpdateBytes    int64   `json:"update_bytes"`
	Stored         int64   `json:"stored"`
}

// Summary decodes the report. It returns nil if there is no report.
func (r Result) Summary(t testing.TB) *Report {
	t.Helper()
	if len(r.Report) == 0 {
		return nil
	}
	var report Report
	r.Decode(t, &report)
	return &report
}

// Deaths lists the dead processes and their causes, such as "0.1 host".
func (r *Report) Deaths() (all []string) {
	for _, f := range r.Failures {
		all = append(all, fmt.Sprintf("%v %s", f.Process, f.Cause))
	}
	return all
}

// Ends lists how the processes ended.
func (r *Report) Ends() (all []string) {
	for _, p := range r.Processes {
		all = append(all, p.End)
	}
	return all
}

// End returns how a process ended, "" if it was never started.
func (r *Report) End(p job.Process) string {
	for _, one := range r.Processes {
		if one.Process == p {
			return one.End
		}
	}
	return ""
}

// Replaced lists the replaced processes.
func (r *Report) Replaced() (all []string) {
	for _, one := range r.Replacements {
		all = append(all, one.Process.String())
	}
	return all
}

// Fired reports whether all requested kills have happened.
func (r *Report) Fired() bool {
	for _, k := range r.Kills {
		if !k.Fired {
			return false
		}
	}
	return true
}

// RequireFired fails the test if a requested kill has not happened.
func (r *Report) RequireFired(t testing.TB) {
	t.Helper()
	for _, k := range r.Kills {
		require.True(t, k.Fired, "%v@%s", k.Process, k.When)
	}
}
