package comm

import "fmt"

// Scan combines the elements of the ranks up to and including the caller with op, in rank
// order. If send is nil, recv contains the elements of the caller.
func Scan[T any](c *Comm, send, recv []T, op func(a, b T) T) error {
	s, err := planScan(c, send, recv, op, true)
	return c.run(scan, s, err)
}

// Iscan begins a Scan.
func Iscan[T any](c *Comm, send, recv []T, op func(a, b T) T) *Request {
	s, err := planScan(c, send, recv, op, true)
	return c.begin(scan, s, err)
}

// Exscan is Scan without the caller's own elements. It does not change recv of rank 0.
func Exscan[T any](c *Comm, send, recv []T, op func(a, b T) T) error {
	s, err := planScan(c, send, recv, op, false)
	return c.run(exscan, s, err)
}

// Iexscan begins an Exscan.
func Iexscan[T any](c *Comm, send, recv []T, op func(a, b T) T) *Request {
	s, err := planScan(c, send, recv, op, false)
	return c.begin(exscan, s, err)
}

func planScan[T any](c *Comm, send, recv []T, op func(a, b T) T, inclusive bool) (*schedule, error) {
	if err := checkCollective(c, 0, send, recv); err != nil {
		return nil, err
	}
	if err := apart(bytesOf(send), bytesOf(recv), cureInPlace); err != nil {
		return nil, err
	}
	if send == nil {
		send = recv
	}
	if len(recv) != len(send) {
		return nil, fmt.Errorf("%w: %d elements from each rank, room for %d", ErrCount, len(send), len(recv))
	}
	kind := exscan
	if inclusive {
		kind = scan
	}
	s, acc := c.newSchedule(kind, 0, len(send)*sizeOf[T]()), bytesOf(recv)
	n, rank := c.Size(), c.rank
	if inclusive {
		s.copy(acc, bytesOf(send))
	} else { // run the same scan on the result of the previous rank, which each rank receives first
		own := s.memory(len(acc))
		s.copy(own, bytesOf(send))
		if rank+1 < n {
			s.send(rank+1, own)
		}
		if rank == 0 {
			return s, nil
		}
		s.recv(rank-1, acc)
		s.fence()
		n, rank = n-1, rank-1
	}
	s.op = operator[T](op)
	s.scan(acc, n, rank, c.rank-rank)
	return s, nil
}

// scan computes a scan over n ranks, beginning with rank first. In the round with distance
// d a rank has the result of the d ranks ending with it, and gets the result of the d ranks
// before them.
func (s *schedule) scan(acc []byte, n, rank, first int) {
	in := s.memory(len(acc))
	for d := 1; d < n; d *= 2 {
		if rank+d < n {
			s.send(first+rank+d, acc)
		}
		if rank >= d {
			s.recv(first+rank-d, in)
			s.combine(acc, in, acc)
		}
		s.fence()
	}
}
