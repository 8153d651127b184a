package job

import (
	"fmt"

	"github.com/intrahpc/intra/internal/base/checkpoint"
)

// Files is the folder into which the processes write the state of their ranks, and the
// job that owns it.
type Files struct {
	Dir   string         `json:"dir"`
	Owner string         `json:"owner,omitempty"` // ID of the job in its lock, see checkpoint.Owner; "": there is none
	Job   checkpoint.Job `json:"job"`
}

// Restart selects the files with which the processes begin.
type Restart struct {
	Dir string         `json:"dir"`
	Set checkpoint.Set `json:"set"`
}

// Describe returns the Hello of this process. tasks is the number of tasks that the
// program divides a section into.
func Describe(tag bool, tasks int) (Hello, error) {
	h := Hello{Tag: tag, Tasks: tasks}
	return h, h.describe()
}

// Files returns the job that the process's files belong to, where the job has that many
// ranks.
func (h *Hello) Files(ranks int) checkpoint.Job {
	return checkpoint.Job{Build: h.Build, Arch: fmt.Sprintf("%s %s-endian, math %s", h.Arch, h.ByteOrder, h.Math), Ranks: ranks, Tasks: h.Tasks,
		Program: h.Program, Args: h.Args}
}
