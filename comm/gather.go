package comm

import "fmt"

// treeGather is the size in bytes of a rank's part up to which Gather and Scatter use a
// tree. In a tree the root sends or receives fewer messages, but data is transferred
// several times.
const treeGather = 4 << 10

// Gather collects the parts of all ranks, all of one length, in rank order in recv of rank
// root. It does not use recv of other ranks. If send of the root is nil, the root's part
// must already be in its place in recv.
func Gather[T any](c *Comm, send, recv []T, root int) error {
	s, err := planGather(c, send, recv, root)
	return c.run(gather, s, err)
}

// Igather begins a Gather.
func Igather[T any](c *Comm, send, recv []T, root int) *Request {
	s, err := planGather(c, send, recv, root)
	return c.begin(gather, s, err)
}

// Gatherv collects the parts of all ranks, of any lengths. The part of rank i goes to
// recv[i] of rank root, which must have the same length.
func Gatherv[T any](c *Comm, send []T, recv [][]T, root int) error {
	s, err := planGatherv(c, send, recv, root)
	return c.run(gatherv, s, err)
}

// Igatherv begins a Gatherv.
func Igatherv[T any](c *Comm, send []T, recv [][]T, root int) *Request {
	s, err := planGatherv(c, send, recv, root)
	return c.begin(gatherv, s, err)
}

func planGather[T any](c *Comm, send, recv []T, root int) (*schedule, error) {
	if err := checkCollective(c, root, send, recv); err != nil {
		return nil, err
	}
	n, part := c.Size(), len(send)
	if c.rank == root {
		if err := apart(bytesOf(send), bytesOf(recv), curePlaced); err != nil {
			return nil, err
		}
		if send == nil {
			part = len(recv) / n
		}
		if len(recv) != n*part {
			return nil, fmt.Errorf("%w: %d elements from each of %d ranks, room for %d", ErrCount, part, n, len(recv))
		}
	}
	s, b, all := c.newSchedule(gather, root, part*sizeOf[T]()), bytesOf(send), bytesOf(recv)
	part *= sizeOf[T]()
	if c.rank == root {
		own := all[root*part : (root+1)*part]
		s.copy(own, b)
		b = own
	}
	if part <= treeGather {
		s.gatherTree(b, all, part, root)
		return s, nil
	}
	if c.rank != root {
		s.send(root, b)
		return s, nil
	}
	for i := range n {
		if i != root {
			s.recv(i, all[i*part:(i+1)*part])
		}
	}
	return s, nil
}

// gatherTree collects the parts up a binomial tree. The subtree of a rank consists of the
// ranks that follow it, in the order that begins at the root. The rank collects their
// parts.
func (s *schedule) gatherTree(own, all []byte, part, root int) {
	n := s.c.Size()
	v := (s.c.rank - root + n) % n
	acc := own
	if v%2 == 0 && v+1 < n {
		acc = s.memory(n * part)
		s.copy(acc[:part], own)
	}
	d := 1
	for ; d < n && v&d == 0; d *= 2 {
		if v+d < n {
			s.recv((v+d+root)%n, acc[d*part:min(2*d, n-v)*part])
		}
	}
	s.fence()
	if v != 0 {
		s.send((v-d+root)%n, acc[:min(d, n-v)*part])
		return
	}
	for i := 1; i < n; i++ {
		to := (i + root) % n
		s.copy(all[to*part:(to+1)*part], acc[i*part:(i+1)*part])
	}
}

func planGatherv[T any](c *Comm, send []T, recv [][]T, root int) (*schedule, error) {
	if err := checkCollective(c, root, send); err != nil {
		return nil, err
	}
	if err := touch(c, recv...); err != nil {
		return nil, err
	}
	if c.rank != root {
		s := c.newSchedule(gatherv, root, 0)
		s.send(root, bytesOf(send))
		return s, nil
	}
	if err := checkParts(c, recv); err != nil {
		return nil, err
	}
	if send != nil && len(send) != len(recv[root]) {
		return nil, fmt.Errorf("%w: %d own elements, room for %d", ErrCount, len(send), len(recv[root]))
	}
	if err := partsApart(partOf("send", send), partsOf("recv", recv), curePlaced); err != nil {
		return nil, err
	}
	s := c.newSchedule(gatherv, root, 0)
	for i, r := range recv {
		if i != root {
			s.recv(i, bytesOf(r))
		}
	}
	s.copy(bytesOf(recv[root]), bytesOf(send))
	return s, nil
}

func checkParts[T any](c *Comm, parts [][]T) error {
	if len(parts) != c.Size() {
		return fmt.Errorf("%w: %d parts for %d ranks", ErrCount, len(parts), c.Size())
	}
	return nil
}
