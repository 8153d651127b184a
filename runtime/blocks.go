package intra

import (
	"fmt"
	"iter"

	"github.com/intrahpc/intra/sched"
)

// Blocks cuts 0..n into min(n, parts) non-empty blocks [lo, hi); the first
// n mod parts are one longer than the others. It panics if parts < 1.
func Blocks(n, parts int) iter.Seq2[int, int] {
	if parts < 1 {
		panic(fmt.Sprintf("intra.Blocks: %d parts, want at least 1", parts))
	}
	return sched.Blocks(n, parts)
}
