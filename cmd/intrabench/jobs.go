package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/inproc"
	"github.com/intrahpc/intra/transport/sdr"
	"github.com/intrahpc/intra/transport/shm"
	"github.com/intrahpc/intra/transport/tcp"
)

// linkKinds are the links that can be measured. The two ends are goroutines of
// this process, which costs what two processes cost as long as each has a core.
var linkKinds = []string{"inproc", "shm", "unix"}

func openPair(kind string) (a, b transport.Link, err error) {
	switch kind {
	case "inproc":
		a, b = inproc.Pair()
		return a, b, nil
	case "shm":
		s, err := shm.Create(shm.DefaultSize)
		if err != nil {
			return nil, nil, err
		}
		defer s.File().Close()
		if a, err = shm.Open(s.File(), 0); err != nil {
			return nil, nil, err
		}
		b, err = shm.Open(s.File(), 1)
		return a, b, err
	case "unix":
		x, y, err := tcp.PairUnix()
		if err != nil {
			return nil, nil, err
		}
		if a, err = fromFile(x); err != nil {
			return nil, nil, err
		}
		b, err = fromFile(y)
		return a, b, err
	}
	return nil, nil, fmt.Errorf("unknown link %q: want one of %s", kind, strings.Join(linkKinds, ", "))
}

func fromFile(f *os.File) (transport.Link, error) {
	defer f.Close()
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	return tcp.New(conn), nil
}

// benchJob is a job whose processes are goroutines.
type benchJob struct {
	degrees []int
	worlds  []*comm.Comm
	engines []*sdr.Engine
	links   []transport.Link
	end     context.CancelCauseFunc
}

// newBenchJob connects the processes of a job with each other.
func newBenchJob(ctx context.Context, kind string, degrees []int, mirror bool) (*benchJob, error) {
	j := &benchJob{degrees: degrees}
	ctx, j.end = context.WithCancelCause(ctx)
	type peer struct{ rank, replica int }
	var all []peer
	for rank, d := range degrees {
		for k := range d {
			all = append(all, peer{rank, k})
		}
	}
	links := make([][]transport.Link, len(all))
	pollers := make([]*transport.Poller, len(all))
	for i, p := range all {
		links[i], pollers[i] = make([]transport.Link, len(all)), transport.NewPoller()
		j.engines = append(j.engines, sdr.NewEngine(sdr.Config{
			Rank: p.rank, Replica: p.replica, Degrees: degrees, Poller: pollers[i], Context: ctx, Mirror: mirror,
			Link: func(rank, replica int) transport.Link { return links[i][slices.Index(all, peer{rank, replica})] },
		}))
	}
	for i := range all {
		for k := range i {
			a, b, err := openPair(kind)
			if err != nil {
				j.close()
				return nil, err
			}
			links[i][k], links[k][i] = a, b
			j.links = append(j.links, a, b)
			a.Start(j.engines[i].Receiver(all[k].rank, all[k].replica))
			b.Start(j.engines[k].Receiver(all[i].rank, all[i].replica))
			pollers[i].Add(a)
			pollers[k].Add(b)
		}
	}
	for _, e := range j.engines {
		w, err := comm.World(e)
		if err != nil {
			j.close()
			return nil, err
		}
		j.worlds = append(j.worlds, w)
	}
	return j, nil
}

// run runs f in every process and returns the first error.
func (j *benchJob) run(f func(c *comm.Comm) error) error {
	errs := make(chan error)
	for _, w := range j.worlds {
		go func() {
			err := f(w)
			if err != nil {
				j.end(err)
			}
			errs <- err
		}()
	}
	var first error
	for range j.worlds {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

func (j *benchJob) close() {
	j.end(errors.New("measured"))
	for _, l := range j.links {
		l.Close()
	}
}

// parseDegrees reads "2,1".
func parseDegrees(s string) ([]int, error) {
	var out []int
	for f := range strings.SplitSeq(s, ",") {
		d, err := strconv.Atoi(f)
		if err != nil || d < 1 || d > sdr.MaxReplicas {
			return nil, fmt.Errorf("degrees %q: want numbers from 1 to %d, like 2,1", s, sdr.MaxReplicas)
		}
		out = append(out, d)
	}
	return out, nil
}

// fields adds a flag that holds a list separated by sep.
func fields(to *[]string, sep string) func(string) error {
	return func(s string) error {
		*to = strings.Split(s, sep)
		return nil
	}
}
