//go:build system

package systemtest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/jobtest"
)

// A program whose messages depend on the order of others is right whichever replicas die, and when.
func TestMessagesInAnyOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
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
				Program: []string{binaries.Program(t, "internal/systemtest/anyorder"), "200"}})
			require.Zero(t, r.Code, r.Stderr)
			require.Equal(t, "every task once: true\nall ranks agree: true\n", r.Stdout)
			require.NotContains(t, r.Stderr, "differ")
		})
	}
}
