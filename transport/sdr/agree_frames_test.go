package sdr

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each decision costs one frame to each sibling, and one acknowledgement from each sibling
// to all others. This also holds for a program that receives or tests in a loop.
func TestDecisionFrames(t *testing.T) {
	const calls = 20
	for degree, want := range map[int]int{1: 0, 2: 2, 3: 2 + 4, 4: 3 + 9} {
		receives := newNet(t, Limits{}, degree, 1)
		questions := newNet(t, Limits{}, degree, 1)
		for _, n := range []*net{receives, questions} {
			for _, c := range n.cores {
				c.agree(nil)
			}
		}
		for i := range uint64(calls) {
			var all []*pendingRecv
			for p := range degree {
				all = append(all, receives.recv(p, Any, 7))
			}
			receives.send(degree, "a", 0, 7)
			receives.deliverAll()
			for _, r := range all {
				require.Equal(t, "1:a", r.text(t))
			}
			if degree == 1 {
				continue // the frame is no question
			}
			for p := range degree {
				require.Equal(t, i, questions.cores[p].matching.agreed.Inquire(questions.ctxs[p]))
			}
			questions.cores[0].matching.agreed.Answer(questions.ctxs[0], i, []byte{0})
			questions.carry(0)
			questions.deliverAll()
			for p := range degree {
				_, settled := questions.cores[p].matching.agreed.Answered(questions.ctxs[p], i)
				require.True(t, settled)
			}
		}
		for _, n := range []*net{receives, questions} {
			frames := 0
			for _, f := range n.sent() {
				if strings.HasSuffix(f, " decision") || strings.HasSuffix(f, " holds") {
					frames++
				}
			}
			require.Equal(t, calls*want, frames, "degree %d", degree)
		}
	}
}

// A run of receives costs a few frames if its messages have arrived.
func TestDecisionFramesOfARun(t *testing.T) {
	const receives = 100
	for degree, once := range map[int]int{2: 2, 3: 2 + 4, 4: 3 + 9} {
		n := newNet(t, Limits{}, degree, 1, 1)
		for _, c := range n.cores {
			c.agree(nil)
		}
		for range receives / 2 { // from two ranks in turn
			n.send(degree, "a", 0, 7)
			n.deliverAll()
			n.send(degree+1, "a", 0, 7)
			n.deliverAll()
		}
		for i := range receives {
			var all []*pendingRecv
			for p := range degree {
				all = append(all, n.recv(p, Any, 7))
			}
			n.deliverAll()
			for _, r := range all {
				require.Equal(t, fmt.Sprintf("%d:a", 1+i%2), r.text(t))
			}
		}
		frames := 0
		for _, f := range n.sent() {
			if strings.HasSuffix(f, " decision") || strings.HasSuffix(f, " holds") {
				frames++
			}
		}
		require.Equal(t, 2*once, frames, "degree %d", degree)
	}
}
