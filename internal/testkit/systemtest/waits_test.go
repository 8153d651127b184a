//go:build system

package systemtest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// hang bounds the time of a job that can never end.
const hang = 25 * time.Second

// A wait for a rank whose program has returned, or for one that is in another operation,
// fails with an error that names the cause. Successive cases use different degrees; in a
// matrix all degrees run.
func TestWaitsThatNeverEnd(t *testing.T) {
	t.Parallel()
	for i, test := range []struct{ way, want string }{
		{"barrier", "rank 1 waits in Barrier for rank 0, which has finished (waits/main.go:"},
		{"receive", "rank 1 waits in Recv for rank 0, which has finished (waits/main.go:"},
		{"any", "rank 1 waits in Recv for any other rank, and all have finished (waits/main.go:"},
		{"probe", "rank 1 waits in Probe for rank 0, which has finished (waits/main.go:"},
		{"ssend", "rank 1 waits in Ssend for rank 0, which has finished (waits/main.go:"},
		{"large", "rank 1 waits in Send for rank 0, which has finished (waits/main.go:"},
		{"many", "rank 1 waits in Send for rank 0, which has finished (waits/main.go:"},
		{"waitany", "rank 1 waits in WaitAny for rank 0, which has finished (waits/main.go:"},
		{"anothers", "rank 1 waits in Recv for rank 0, which has finished (waits/main.go:"},
		{"allreduce", "collectives do not match: rank 0 has called Barrier, rank 1 Allreduce of 8 bytes (waits/main.go:"},
		{"root", "collectives do not match: rank 0 has called B"},
		{"length", "rank 0 has called Allreduce of 24 bytes, rank 1 Allreduce of 32 bytes (waits/main.go:"},
	} {
		for _, flags := range jobtest.Some([]string{"-n 2 -r 1", "-n 2 -r 2", "-degrees 2,1", "-degrees 1,2 -replace"}, i%4) {
			t.Run(test.way+" "+flags, func(t *testing.T) {
				t.Parallel()
				r := newJobRun(t, jobtest.Run(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Deadline: hang,
					Flags: strings.Fields(flags), Program: []string{binaries.Program(t, "internal/testkit/systemtest/waits"), test.way}}))
				require.Equal(t, 1, r.code, r.stderr)
				require.Contains(t, r.stderr, test.want)
				require.Empty(t, r.stdout)
			})
		}
	}
}

// Replicas that print different lines are detected: the user gets a warning, and in
// checked mode the job ends.
func TestReplicasPrintDifferentLines(t *testing.T) {
	for _, test := range []struct{ way, want string }{
		{"same", ""},
		{"replica", `line 2 of the standard output differs: 0.0 wrote "replica 0", 0.1 wrote "replica 1"`},
		{"more", "the standard outputs differ: 0.0 wrote 10 lines, 0.1 11"},
	} {
		for flags, code := range map[string]int{"-r 2": 0, "-r 2 -check": 4, "-r 1 -check": 0} {
			t.Run(test.way+" "+flags, func(t *testing.T) {
				t.Parallel()
				r := newJobRun(t, jobtest.Run(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Deadline: hang,
					Flags: strings.Fields(flags), Program: []string{binaries.Program(t, "internal/testkit/systemtest/waits"), test.way}}))
				if test.want == "" || flags == "-r 1 -check" {
					require.Zero(t, r.code, r.stderr)
					require.NotContains(t, r.stderr, "differ")
					return
				}
				require.Equal(t, code, r.code, r.stderr)
				require.Contains(t, r.stderr, test.want)
				if code != 0 {
					require.Contains(t, r.report.Error, test.want)
				}
			})
		}
	}
}
