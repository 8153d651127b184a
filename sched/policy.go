package sched

import "fmt"

// Policy is a way to distribute the tasks of a section among replicas.
type Policy uint8

const (
	// Adaptive: each replica runs its own block. Then it helps with the blocks of the other
	// replicas, beginning at their far ends, and avoids claimed tasks.
	Adaptive Policy = iota
	// Static: r equal blocks in launch order, one per replica
	// [INTRA, section V-A].
	Static
	// Replicate: every replica runs every task and sends nothing.
	Replicate
)

func (p Policy) String() string {
	switch p {
	case Adaptive:
		return "adaptive"
	case Static:
		return "static"
	case Replicate:
		return "replicate"
	}
	return fmt.Sprintf("policy(%d)", uint8(p))
}

// Parse returns the policy with a name.
func Parse(s string) (Policy, error) {
	for _, p := range []Policy{Adaptive, Static, Replicate} {
		if s == p.String() {
			return p, nil
		}
	}
	return 0, fmt.Errorf("unknown schedule %q: want static, adaptive or replicate", s)
}

// Block returns the tasks [lo, hi) of replica i when n tasks are divided into r blocks; the
// first n mod r blocks are one longer. r is the number of replicas at the start of the job,
// including dead ones. So replicas agree on every block even if they know of different
// deaths when they enter a section, and no two of them wait for each other.
func Block(n, r, i int) (lo, hi int) {
	q, m := n/r, n%r
	lo = i*q + min(i, m)
	hi = lo + q
	if i < m {
		hi++
	}
	return lo, hi
}

// Owner returns the replica whose block holds task t.
func Owner(n, r, t int) int {
	q, m := n/r, n%r
	if long := m * (q + 1); t >= long {
		return m + (t-long)/q
	}
	return t / (q + 1)
}
