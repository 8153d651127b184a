package head

import (
	"time"

	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
)

// judge decides which process is at fault: it handles broken links, stopped processes, blame
// for wrong results, differences between replicas, and replicas that outlast all others
// without progress. It fences a process, has the job roll back, or ends the job.
type judge struct {
	*desk
	recovery *queue
	members  *members
	plan     *plan

	links       []linkDoubt                // links that are reported to be without a connection
	disputes    map[int]*doubt             // by rank
	convictions []runreport.Convicted      // blamed processes
	offenders   map[job.Endpoint]*offender // of these, where replicas compare only a share of the tasks
	differing   map[int]bool               // ranks whose replicas print different lines, as already reported
	diverged    map[int]string             // ranks whose replicas had different states, and what differed
	outlasted   time.Duration              // since when processes run while all ranks have finished in others; longAgo: none do
}
