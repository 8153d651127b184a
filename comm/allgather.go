package comm

import "fmt"

// ringAllgather is the size in bytes of a rank's part from which Allgather uses a ring
// instead of doubling.
const ringAllgather = 8 << 10

// Allgather collects the parts of all ranks, all of one length, in rank order in recv of
// every rank. If send is nil, the part of the caller must already be in its place in recv.
func Allgather[T any](c *Comm, send, recv []T) error {
	s, err := planAllgather(c, send, recv)
	return c.run(allgather, s, err)
}

// Iallgather begins an Allgather.
func Iallgather[T any](c *Comm, send, recv []T) *Request {
	s, err := planAllgather(c, send, recv)
	return c.begin(allgather, s, err)
}

// Allgatherv collects the parts of all ranks, of any lengths. The part of rank i goes to
// recv[i] of every rank, which must have the same length.
func Allgatherv[T any](c *Comm, send []T, recv [][]T) error {
	s, err := planAllgatherv(c, send, recv)
	return c.run(allgatherv, s, err)
}

// Iallgatherv begins an Allgatherv.
func Iallgatherv[T any](c *Comm, send []T, recv [][]T) *Request {
	s, err := planAllgatherv(c, send, recv)
	return c.begin(allgatherv, s, err)
}

func planAllgather[T any](c *Comm, send, recv []T) (*schedule, error) {
	if err := checkCollective(c, 0, send, recv); err != nil {
		return nil, err
	}
	if err := apart(bytesOf(send), bytesOf(recv), curePlaced); err != nil {
		return nil, err
	}
	n, part := c.Size(), len(send)
	if send == nil {
		part = len(recv) / n
	}
	if len(recv) != n*part {
		return nil, fmt.Errorf("%w: %d elements from each of %d ranks, room for %d", ErrCount, part, n, len(recv))
	}
	all := bytesOf(recv)
	part *= sizeOf[T]()
	s, made := c.planFor(allgather, 0, part, bytesOf(send), all)
	if made {
		return s, nil
	}
	own := all[c.rank*part : (c.rank+1)*part]
	s.copy(own, bytesOf(send))
	if part < ringAllgather && n > 2 {
		s.allgatherDoubling(own, all, part)
	} else {
		s.allgatherRing(func(i int) []byte { return all[i*part : (i+1)*part] })
	}
	return s, nil
}

// allgatherDoubling collects in ceil(log2 n) rounds. In the round with distance d each rank
// sends up to d parts, beginning with its own (Bruck).
func (s *schedule) allgatherDoubling(own, all []byte, part int) {
	n, rank := s.c.Size(), s.c.rank
	acc := s.memory(n * part)
	s.copy(acc, own)
	for d := 1; d < n; d *= 2 {
		count := min(d, n-d)
		s.send((rank-d+n)%n, acc[:count*part])
		s.recv((rank+d)%n, acc[d*part:(d+count)*part])
		s.fence()
	}
	s.do(func() {
		k := copy(all[rank*part:], acc)
		copy(all, acc[k:])
	})
}

// allgatherRing passes each part around the ring of ranks.
func (s *schedule) allgatherRing(part func(i int) []byte) {
	n, rank := s.c.Size(), s.c.rank
	s.fence()
	for k := range n - 1 {
		s.send((rank+1)%n, part((rank-k+n)%n))
		s.recv((rank-1+n)%n, part((rank-k-1+n)%n))
		s.fence()
	}
}

func planAllgatherv[T any](c *Comm, send []T, recv [][]T) (*schedule, error) {
	if err := checkCollective(c, 0, send); err != nil {
		return nil, err
	}
	if err := touch(c, recv...); err != nil {
		return nil, err
	}
	if err := checkParts(c, recv); err != nil {
		return nil, err
	}
	if send != nil && len(send) != len(recv[c.rank]) {
		return nil, fmt.Errorf("%w: %d own elements, room for %d", ErrCount, len(send), len(recv[c.rank]))
	}
	if err := partsApart(partOf("send", send), partsOf("recv", recv), curePlaced); err != nil {
		return nil, err
	}
	s := c.newSchedule(allgatherv, 0, 0)
	s.copy(bytesOf(recv[c.rank]), bytesOf(send))
	s.allgatherRing(func(i int) []byte { return bytesOf(recv[i]) })
	return s, nil
}
