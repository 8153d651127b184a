package notice

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/kernels"
)

// Changed sets how much of its state Mover changes in each pass: one byte in Changed bytes.
const Changed = 10

// pace is the least time of a pass of Mover.
const pace = 10 * time.Millisecond

// The messages by which Mover measures its link.
const (
	linkBytes  = 32 << 20
	linkRounds = 9
)

// Mover is the program of a job whose rank 0 is moved from host to host. Rank 0 registers a
// state of the given number of bytes, and rank 1 one of a few bytes. Rank 0 first prints the
// bandwidth of the link to rank 1 in bytes per second, and then the number of each pass. The
// program never ends by itself.
func Mover(p *intra.Process, bytes int, out io.Writer) error {
	state, pass := intra.Alloc[float64](1), 0
	if p.Rank() == 0 {
		state = intra.Alloc[float64](bytes / 8)
	}
	intra.Protect(p, "state", &state)
	intra.Protect(p, "pass", &pass)
	if !p.Restored() {
		for i := range state {
			state[i] = float64(i) + 0.5
		}
		rate, err := linkRate(p)
		if err != nil {
			return err
		}
		if p.Rank() == 0 {
			if err := json.NewEncoder(out).Encode(rate); err != nil {
				return err
			}
		}
	}
	for ; ; pass++ {
		began := time.Now()
		if err := p.SafePoint(); err != nil {
			return err
		}
		for i := range state[:(len(state)+Changed-1)/Changed] {
			state[i] += 0.25
		}
		sum, err := comm.AllreduceValue(p.World(), state[0], comm.Sum)
		if err != nil {
			return err
		}
		state[len(state)-1] = sum
		if p.Rank() == 0 {
			if _, err := fmt.Fprintln(out, pass); err != nil {
				return err
			}
		}
		time.Sleep(pace - time.Since(began)) // not at all if the pass took longer
	}
}

// linkRate measures the bandwidth of messages from rank 0 to rank 1, in bytes per second: the
// goals for a move depend on it.
func linkRate(p *intra.Process) (float64, error) {
	buf, answer := make([]byte, linkBytes), []byte{0}
	const tag = 1
	var seconds []float64
	for range linkRounds {
		began := time.Now()
		var err error
		if p.Rank() == 0 {
			if err = comm.Send(p.World(), buf, 1, tag); err == nil {
				_, err = comm.Recv(p.World(), answer, 1, tag)
			}
		} else {
			if _, err = comm.Recv(p.World(), buf, 0, tag); err == nil {
				err = comm.Send(p.World(), answer, 0, tag)
			}
		}
		if err != nil {
			return 0, fmt.Errorf("measure the link: %w", err)
		}
		seconds = append(seconds, time.Since(began).Seconds())
	}
	slices.Sort(seconds)
	return linkBytes / seconds[linkRounds/2], nil
}

var dotTask = intra.Register("github.com/intrahpc/intra/cmd/intrabench/internal/notice.dot")

// elements is the length of the vector of Sharer, 4 MiB, and repeat how often a pass reads it:
// replicas that share the work save nearly half of the time.
const (
	elements = 1 << 19
	repeat   = 128
)

// Sharer is the program whose replicas share the work of each pass. It prints the number of
// each pass and never ends by itself.
func Sharer(p *intra.Process, out io.Writer) error {
	x, pass := intra.Alloc[float64](elements), 0
	intra.Protect(p, "x", &x)
	intra.Protect(p, "pass", &pass)
	if !p.Restored() {
		for i := range x {
			x[i] = float64(i%7) + 1
		}
	}
	for ; ; pass++ {
		if err := p.SafePoint(); err != nil {
			return err
		}
		sum := 0.0
		s := p.Section()
		for lo, hi := range intra.Blocks(len(x), p.Tasks()) {
			cell, region := intra.Reduce(s, "sum", &sum, func(a, b float64) float64 { return a + b })
			s.Launch(dotTask, func() {
				for range repeat {
					*cell += kernels.Dot(x[lo:hi], x[lo:hi])
				}
			}, intra.In("x", x[lo:hi]), region)
		}
		if err := s.End(); err != nil {
			return err
		}
		x[0] = 1 + 1/sum // each pass computes another sum
		if _, err := fmt.Fprintln(out, pass); err != nil {
			return err
		}
	}
}
