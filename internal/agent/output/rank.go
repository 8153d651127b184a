package output

// Rank is the merged output of the replicas of one rank.
type Rank struct{ streams [2]*forwarder }

// NewRank returns the output of a rank with degree replicas, which is written to
// c.
func NewRank(c *Console, rank, degree int) *Rank {
	return &Rank{[2]*forwarder{newForwarder(rank, Stdout, c, degree), newForwarder(rank, Stderr, c, degree)}}
}

// Lost records that the written position is unknown, since the head that wrote
// is lost. The output continues where the first process begins or
// resumes.
func (r *Rank) Lost() {
	for _, f := range r.streams {
		f.lose()
	}
}

// Skip records how much has been written.
func (r *Rank) Skip(out [2]Written) {
	for s, f := range r.streams {
		f.mu.Lock()
		f.skip(out[s])
		f.mu.Unlock()
	}
}

// Rewind makes the output after a position of a replica be written again, since
// what was written of it may be wrong. It does so once in each generation, before
// that replica resumes.
func (r *Rank) Rewind(generation uint32, at Position) {
	for s, f := range r.streams {
		f.rewind(generation, at[s].Written)
	}
}

// Written returns how much of each stream has been written.
func (r *Rank) Written() (w [2]Written) {
	for s, f := range r.streams {
		w[s] = f.written(Stream(s))
	}
	return w
}
