package output

// Rank is what the replicas of one rank write, each stream as one.
type Rank struct{ streams [2]*forwarder }

// NewRank returns the output of a rank of that degree, which goes to c.
func NewRank(c *Console, rank, degree int) *Rank {
	return &Rank{[2]*forwarder{newForwarder(rank, Stdout, c, degree), newForwarder(rank, Stderr, c, degree)}}
}

// Lost says that nobody knows yet how much is out: whoever had it out is lost. The
// output goes on where the first process begins, or resumes.
func (r *Rank) Lost() {
	for _, f := range r.streams {
		f.lose()
	}
}

// Skip says that so much is out.
func (r *Rank) Skip(out [2]Written) {
	for s, f := range r.streams {
		f.mu.Lock()
		f.skip(out[s])
		f.mu.Unlock()
	}
}

// Rewind has what comes after a position of a replica be put out again, since what is
// out of it may be wrong: once in each generation, before that replica resumes.
func (r *Rank) Rewind(generation uint32, at Position) {
	for s, f := range r.streams {
		f.rewind(generation, at[s].Written)
	}
}

// Written returns how much of each stream is out.
func (r *Rank) Written() (w [2]Written) {
	for s, f := range r.streams {
		w[s] = f.written(Stream(s))
	}
	return w
}
