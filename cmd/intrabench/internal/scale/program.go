package scale

import (
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
)

// Latency is the result that rank 0 of the job prints before it rests.
type Latency struct {
	HalfTrip  float64 `json:"half_trip_seconds"` // half the round trip of 8 bytes between ranks 0 and 1
	Allreduce float64 `json:"allreduce_seconds"` // time of an allreduce of 8 bytes over all ranks
}

// Program measures messages and prints the results. Then rank 0 rests, and all other ranks
// wait for it.
func Program(p *intra.Process, messages int, rest time.Duration, out io.Writer) error {
	w := p.World()
	var took Latency
	for range 2 { // links are made in the first round
		trip, err := halfTrip(w, messages)
		if err != nil {
			return err
		}
		all, err := allreduce(w, messages)
		if err != nil {
			return err
		}
		took = Latency{HalfTrip: trip, Allreduce: all}
	}
	if w.Rank() == 0 {
		// Both replicas use the times of one of them, so that they rest together and print the same
		// line.
		took, err := intra.Once(p, func() (Latency, error) { return took, nil })
		if err != nil {
			return err
		}
		if err := json.NewEncoder(out).Encode(took); err != nil {
			return err
		}
		time.Sleep(rest)
	}
	return w.Barrier()
}

// halfTrip returns half of the time in which ranks 0 and 1 exchange 8 bytes. The other ranks
// wait for them.
func halfTrip(w *comm.Comm, messages int) (float64, error) {
	buf := make([]float64, 1)
	send := func() error { return comm.Send(w, buf, 1-w.Rank(), 0) }
	receive := func() error {
		_, err := comm.Recv(w, buf, 1-w.Rank(), 0)
		return err
	}
	if err := w.Barrier(); err != nil {
		return 0, err
	}
	began := time.Now()
	for range messages {
		var err error
		switch w.Rank() {
		case 0:
			err = errors.Join(send(), receive())
		case 1:
			err = errors.Join(receive(), send())
		}
		if err != nil {
			return 0, err
		}
	}
	took := time.Since(began).Seconds() / float64(2*messages)
	return took, w.Barrier()
}

// allreduce returns the time of a sum over all ranks.
func allreduce(w *comm.Comm, messages int) (float64, error) {
	if err := w.Barrier(); err != nil {
		return 0, err
	}
	began := time.Now()
	for range messages {
		if _, err := comm.AllreduceValue(w, 1.0, func(a, b float64) float64 { return a + b }); err != nil {
			return 0, err
		}
	}
	return time.Since(began).Seconds() / float64(messages), nil
}
