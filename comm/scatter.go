package comm

import "fmt"

// Scatter gives each rank its part, all of one length, of send of rank root in rank order.
// It does not use send of other ranks. If recv of the root is nil, the root's part stays in
// send.
func Scatter[T any](c *Comm, send, recv []T, root int) error {
	s, err := planScatter(c, send, recv, root)
	return c.run(scatter, s, err)
}

// Iscatter begins a Scatter.
func Iscatter[T any](c *Comm, send, recv []T, root int) *Request {
	s, err := planScatter(c, send, recv, root)
	return c.begin(scatter, s, err)
}

// Scatterv gives send[i] of rank root, of any length, to rank i, whose recv must have the
// same length.
func Scatterv[T any](c *Comm, send [][]T, recv []T, root int) error {
	s, err := planScatterv(c, send, recv, root)
	return c.run(scatterv, s, err)
}

// Iscatterv begins a Scatterv.
func Iscatterv[T any](c *Comm, send [][]T, recv []T, root int) *Request {
	s, err := planScatterv(c, send, recv, root)
	return c.begin(scatterv, s, err)
}

func planScatter[T any](c *Comm, send, recv []T, root int) (*schedule, error) {
	if err := checkCollective(c, root, send, recv); err != nil {
		return nil, err
	}
	n, part := c.Size(), len(recv)
	if c.rank == root {
		if err := apart(bytesOf(send), bytesOf(recv), cureKept); err != nil {
			return nil, err
		}
		if recv == nil {
			part = len(send) / n
		}
		if len(send) != n*part {
			return nil, fmt.Errorf("%w: %d elements for %d ranks with room for %d each", ErrCount, len(send), n, part)
		}
	}
	s, all, b := c.newSchedule(scatter, root, part*sizeOf[T]()), bytesOf(send), bytesOf(recv)
	part *= sizeOf[T]()
	switch {
	case part <= treeGather:
		s.scatterTree(all, b, part, root)
	case c.rank != root:
		s.recv(root, b)
	default:
		for i := range n {
			if i != root {
				s.send(i, all[i*part:(i+1)*part])
			}
		}
	}
	if c.rank == root {
		s.copy(b, all[root*part:(root+1)*part])
	}
	return s, nil
}

// scatterTree sends the parts down a binomial tree. The subtree of a rank consists of the
// ranks that follow it, in the order that begins at the root. The rank also receives their
// parts, and forwards them.
func (s *schedule) scatterTree(all, own []byte, part, root int) {
	n := s.c.Size()
	v := (s.c.rank - root + n) % n
	d := 1
	for d < n && v&d == 0 {
		d *= 2
	}
	span := min(d, n-v)
	acc := own
	if span > 1 {
		acc = s.memory(span * part)
	}
	if v == 0 {
		for i := 1; i < n; i++ {
			from := (i + root) % n
			s.copy(acc[i*part:(i+1)*part], all[from*part:(from+1)*part])
		}
	} else {
		s.recv((v-d+root)%n, acc)
		s.fence()
		if span > 1 {
			s.copy(own, acc[:part])
		}
	}
	for d /= 2; d > 0; d /= 2 {
		if v+d < n {
			s.send((v+d+root)%n, acc[d*part:min(2*d, n-v)*part])
		}
	}
}

func planScatterv[T any](c *Comm, send [][]T, recv []T, root int) (*schedule, error) {
	if err := checkCollective(c, root, send...); err != nil {
		return nil, err
	}
	if err := touch(c, recv); err != nil {
		return nil, err
	}
	if c.rank != root {
		s := c.newSchedule(scatterv, root, 0)
		s.recv(root, bytesOf(recv))
		return s, nil
	}
	if err := checkParts(c, send); err != nil {
		return nil, err
	}
	if recv != nil && len(recv) != len(send[root]) {
		return nil, fmt.Errorf("%w: %d own elements, room for %d", ErrCount, len(send[root]), len(recv))
	}
	if err := partsApart(partsOf("send", send), partOf("recv", recv), cureKept); err != nil {
		return nil, err
	}
	s := c.newSchedule(scatterv, root, 0)
	for i, p := range send {
		if i != root {
			s.send(i, bytesOf(p))
		}
	}
	s.copy(bytesOf(recv), bytesOf(send[root]))
	return s, nil
}
