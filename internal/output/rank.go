package output

// Rank is what the replicas of one rank write, each stream as one.
type Rank struct{ streams [2]*forwarder }

// NewRank returns the output of a rank of that degree, which goes to c.
func NewRank(c *Console, degree int) *Rank {
	return &Rank{[2]*forwarder{newForwarder(Stdout, c, degree), newForwarder(Stderr, c, degree)}}
}

// Written returns how much of each stream is out.
func (r *Rank) Written() (w [2]Written) {
	for s, f := range r.streams {
		w[s] = f.written(Stream(s))
	}
	return w
}
