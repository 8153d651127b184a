package comm

// scatterBcast is the size in bytes from which a broadcast is a scatter and an allgather.
// Every rank then sends about twice the buffer in total, instead of log2(n) times the
// buffer.
const scatterBcast = 128 << 10

// Bcast copies buf of rank root to buf of all ranks.
func Bcast[T any](c *Comm, buf []T, root int) error {
	s, err := planBcast(c, buf, root)
	return c.run(bcast, s, err)
}

// Ibcast begins a Bcast.
func Ibcast[T any](c *Comm, buf []T, root int) *Request {
	s, err := planBcast(c, buf, root)
	return c.begin(bcast, s, err)
}

func planBcast[T any](c *Comm, buf []T, root int) (*schedule, error) {
	if err := checkCollective(c, root, buf); err != nil {
		return nil, err
	}
	b := bytesOf(buf)
	s, made := c.planFor(bcast, root, len(b), b, nil)
	if made {
		return s, nil
	}
	if len(b) >= scatterBcast && c.Size() > 2 {
		s.bcastLarge(b, root)
	} else {
		s.bcastTree(b, root)
	}
	return s, nil
}

// checkCollective makes the checks that all collectives have in common, and makes the memory
// of the collective current, see touch.
func checkCollective[T any](c *Comm, root int, mem ...[]T) error {
	if err := c.usable(); err != nil {
		return err
	}
	if err := checkElement[T](); err != nil {
		return err
	}
	if err := c.checkRoot(root); err != nil {
		return err
	}
	return touch(c, mem...)
}

// bcastTree sends b down a binomial tree.
func (s *schedule) bcastTree(b []byte, root int) {
	n := s.c.Size()
	v := (s.c.rank - root + n) % n // rank relative to the root
	d := 1
	for ; d < n; d *= 2 {
		if v&d != 0 {
			s.recv((v-d+root)%n, b)
			s.fence()
			break
		}
	}
	for d /= 2; d > 0; d /= 2 {
		if v+d < n {
			s.send((v+d+root)%n, b)
		}
	}
}

// bcastLarge scatters b down a binomial tree and collects the pieces around a ring.
func (s *schedule) bcastLarge(b []byte, root int) {
	n := s.c.Size()
	v := (s.c.rank - root + n) % n
	piece := func(i, j int) []byte { return b[len(b)*i/n : len(b)*j/n] }
	d := 1
	for ; d < n; d *= 2 {
		if v&d != 0 {
			s.recv((v-d+root)%n, piece(v, min(v+d, n)))
			s.fence()
			break
		}
	}
	for d /= 2; d > 0; d /= 2 {
		if v+d < n {
			s.send((v+d+root)%n, piece(v+d, min(v+2*d, n)))
		}
	}
	s.fence()
	next, prev := (s.c.rank+1)%n, (s.c.rank-1+n)%n
	for k := range n - 1 {
		out, in := (v-k+n)%n, (v-k-1+n)%n
		s.send(next, piece(out, out+1))
		s.recv(prev, piece(in, in+1))
		s.fence()
	}
}
