package intra

import (
	"fmt"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/inproc"
)

// connect makes a link between every two processes of a job that runs in
// this process.
func (l *local) connect(kind string, all []job.Process) error {
	for _, p := range all {
		l.linkTo[p] = make(map[job.Process]transport.Link)
	}
	for i, p := range all {
		for _, q := range all[i+1:] {
			a, b, err := l.pair(kind)
			if err != nil {
				return fmt.Errorf("link %v and %v: %w", p, q, err)
			}
			l.linkTo[p][q], l.linkTo[q][p] = a, b
		}
	}
	return nil
}

// pair makes one link of the kind.
func (l *local) pair(kind string) (a, b transport.Link, err error) {
	switch kind {
	case "", "inproc":
		var opts []inproc.Option
		if l.want.Capacity > 0 {
			opts = append(opts, inproc.Capacity(l.want.Capacity))
		}
		a, b = inproc.Pair(opts...)
		return a, b, nil
	}
	return nil, nil, fmt.Errorf("unknown kind of link %q", kind)
}
