//go:build system

package systemtest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// A program whose messages depend on the order of arrival has right results, whichever
// replicas die.
func TestMessagesInAnyOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(jobtest.Count(4, 12)) {
		random := rand.New(rand.NewPCG(seed, 7))
		degrees := []string{"2,2,2,2", "3,1,2", "2,2,1", "3,3,3"}[seed%4]
		flags := fmt.Sprintf("-degrees %s -link %s", degrees, []string{"auto", "tcp"}[random.IntN(2)])
		for _, rank := range random.Perm(3)[:random.IntN(3)] {
			if degree := int(strings.Split(degrees, ",")[rank][0] - '0'); degree > 1 {
				flags += fmt.Sprintf(" -kill %d.%d@message:%d", rank, random.IntN(degree), random.IntN(120))
			}
		}
		t.Run(flags, func(t *testing.T) {
			t.Parallel()
			r := jobtest.Run(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: strings.Fields(flags),
				Program: []string{binaries.Program(t, "internal/testkit/systemtest/anyorder"), "200"}})
			require.Zero(t, r.Code, r.Stderr)
			requireAnyOrder(t, r.Stdout)
			require.NotContains(t, r.Stderr, "differ")
		})
	}
}

// A program wrongly asserts that its messages do not depend on the order of others. It
// ends with exit code 4, and the reason names the message.
func TestWrongAssertionIsFound(t *testing.T) {
	t.Parallel()
	for _, flags := range []string{"-n 3 -r 2", "-n 3 -r 2 -link tcp", "-degrees 2,1,3", "-n 3 -r 2 -replace -backup 1"} {
		t.Run(flags, func(t *testing.T) {
			t.Parallel()
			r := jobtest.Run(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: strings.Fields(flags),
				Program: []string{binaries.Program(t, "internal/testkit/systemtest/anyorder"), "200", "assert"}})
			require.Equal(t, 4, r.Code, r.Stderr)
			require.Regexp(t, `replicas of rank \d have sent message \d+ \(tag \d+, 8 bytes\) to rank \d with different contents \(replica \d: [0-9a-f]{16}, replica`, r.Stderr)
			require.Regexp(t, `AssertSendDeterministic \(\S*main.go:\d+\)`, r.Stderr)
		})
	}
}

// Such a program also has right results after a rollback. The messages may arrive in
// another order than before. A line of output that then differs is reported.
func TestRollbackOfMessagesInAnyOrder(t *testing.T) {
	t.Parallel()
	rollbacks, others := 0, 0
	for message := 30; message < 38; message += 2 {
		r := newJobRun(t, jobtest.Run(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Program: []string{binaries.Program(t, "internal/testkit/systemtest/anyorder"), "20"},
			Flags: strings.Fields(fmt.Sprintf("-n 3 -r 2 -replace -backup 1 -kill 1.0@message:%d -kill 1.1@message:%[1]d", message))}))
		require.Zero(t, r.code, r.stderr)
		requireAnyOrder(t, r.stdout)
		rollbacks += len(r.report.Rollbacks)
		others += strings.Count(r.stderr, "rolled back and wrote another line")
	}
	require.Positive(t, rollbacks)
	t.Logf("%d rollbacks, %d of them to another order", rollbacks, others)
}

// requireAnyOrder checks the output of anyorder: one line for each pass, then the results.
func requireAnyOrder(t *testing.T, stdout string) {
	var want strings.Builder
	for pass := range 21 {
		fmt.Fprintf(&want, "pass %d: [0-9a-f]{16}\n", pass)
	}
	want.WriteString("every task once: true\nall ranks agree: true\n")
	require.Regexp(t, "^"+want.String()+"$", stdout)
}
