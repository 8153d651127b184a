package runreport

import (
	"fmt"
	"time"
)

// Progress is how far a job is.
type Progress struct {
	Elapsed          time.Duration
	Alive, Processes int
	Sections, Tasks  int64
}

// String returns the progress line.
func (p Progress) String() string {
	return fmt.Sprintf("%v  %d/%d processes  %d sections  %d tasks",
		p.Elapsed.Truncate(100*time.Millisecond), p.Alive, p.Processes, p.Sections, p.Tasks)
}
