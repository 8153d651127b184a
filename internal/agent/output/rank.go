package output

import "sync"

// Rank is the merged output of the replicas of one rank.
type Rank struct {
	streams [2]*forwarder

	mu     sync.Mutex
	holder map[int]*Process // the process that writes, or wrote last, as a replica
}

// NewRank returns the output of a rank with degree replicas, which is written to
// c.
func NewRank(c *Console, rank, degree int) *Rank {
	return &Rank{
		streams: [2]*forwarder{newForwarder(rank, Stdout, c, degree), newForwarder(rank, Stderr, c, degree)},
		holder:  make(map[int]*Process),
	}
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

// hold makes a process the one that writes as a replica, and reports whether another one did before.
func (r *Rank) hold(replica int, p *Process) (taken bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.holder[replica]
	r.holder[replica] = p
	return old != nil && old != p
}

// holding calls do for each stream if p writes as that replica. A process that another one has relieved
// ends later than the other one begins, and one that was to relieve another one may end before.
func (r *Rank) holding(replica int, p *Process, do func(*forwarder)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.holder[replica] != p {
		return
	}
	for _, f := range r.streams {
		do(f)
	}
}
