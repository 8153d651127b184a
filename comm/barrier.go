package comm

// Barrier returns when every rank has called it.
func (c *Comm) Barrier() error {
	s, err := c.planBarrier()
	return c.run(barrier, s, err)
}

// Ibarrier begins a Barrier.
func (c *Comm) Ibarrier() *Request {
	s, err := c.planBarrier()
	return c.begin(barrier, s, err)
}

// planBarrier plans a dissemination barrier: after the round with distance d, each rank
// knows that the last 2d ranks before it have arrived. A few ranks exchange one message
// each and need no rounds.
func (c *Comm) planBarrier() (*schedule, error) {
	if err := c.usable(); err != nil {
		return nil, err
	}
	s, made := c.planFor(barrier, 0, 0, nil, nil)
	if made {
		return s, nil
	}
	n := c.Size()
	if c.meetsAtOnce(0) {
		nothing := func(int) []byte { return nil }
		s.exchange(nothing, nothing)
		return s, nil
	}
	for d := 1; d < n; d *= 2 {
		s.send((c.rank+d)%n, nil)
		s.recv((c.rank-d+n)%n, nil)
		s.fence()
	}
	return s, nil
}
