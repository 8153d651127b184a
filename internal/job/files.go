package job

import (
	"fmt"

	"github.com/intrahpc/intra/internal/base/checkpoint"
)

// Files describes the folder into which the processes write the state of their ranks, and
// the job that owns it.
type Files struct {
	Dir   string         `json:"dir"`
	Owner string         `json:"owner,omitempty"` // ID of the job in the lock of the folder, see checkpoint.Owner; "": no lock
	Job   checkpoint.Job `json:"job"`
}

// Restart selects the files with which the processes begin.
type Restart struct {
	Dir string         `json:"dir"`
	Set checkpoint.Set `json:"set"`
}

// Describe returns the Hello of this process. tasks is the number of tasks into which the
// program divides a section.
func Describe(tag bool, tasks int) (Hello, error) {
	h := Hello{Tag: tag, Tasks: tasks}
	return h, h.describe()
}

// Files returns the checkpoint.Job for the files of a job with this number of ranks.
func (h *Hello) Files(ranks int) checkpoint.Job {
	return checkpoint.Job{Build: h.Build, Arch: fmt.Sprintf("%s %s-endian, math %s", h.Arch, h.ByteOrder, h.Math), Ranks: ranks, Tasks: h.Tasks,
		Program: h.Program, Args: h.Args}
}
