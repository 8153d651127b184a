package head

import (
	"time"

	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
)

// judge decides which process is at fault. It handles broken links, stopped processes, blame
// for wrong results, differences between replicas, and replicas that outlast all others
// without progress. Its remedies are to fence a process, to roll the job back, or to end the
// job.
type judge struct {
	*desk
	recovery *queue
	members  *members
	plan     *plan

	links     []linkDoubt                // links that a process has reported as broken
	disputes  map[int]*dispute           // by rank
	blamed    []runreport.Blamed         // in the order of their first reports
	offenders map[job.Endpoint]*offender // blamed processes whose other results were not all compared
	differing map[int]bool               // ranks whose replicas print different lines, once reported to the user
	diverged  map[int]string             // ranks whose replicas had different states, and the difference
	outlasted time.Duration              // time from which a replica outlasts all others; longAgo: none does
}
