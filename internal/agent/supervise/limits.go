package supervise

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/intrahpc/intra/internal/job"
)

// CheckDescriptors checks that this process can open all descriptors for n processes, for
// their links of that kind, and for the connections to a live page. If necessary, it raises
// the limit.
func CheckDescriptors(n int, kind string, page int) error {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return fmt.Errorf("ask for the limit of open files: %w", err)
	}
	// For each process: the ends of its control connection, four pipes and two process
	// descriptors.
	need, cure, what := uint64(64+8*n+page), "raise it (ulimit -n) or run fewer", fmt.Sprintf("%d processes", n)
	if page > 0 {
		what += " and the live page"
	}
	if kind != job.LinkTCP { // link ends that wait to be sent: those between a rank's replicas, and a few requested ones
		need += uint64(4 * n)
		cure = "raise it (ulimit -n), give -link tcp, or run fewer"
	}
	if need > l.Cur && l.Cur < l.Max {
		l.Cur = min(need, l.Max)
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
			return fmt.Errorf("raise the limit of open files to %d: %w", l.Cur, err)
		}
	}
	if need > l.Cur {
		return fmt.Errorf("%s need up to %d open files, and the limit is %d: %s", what, need, l.Cur, cure)
	}
	return nil
}
