package output

import "sync"

// Rank is the merged output of the replicas of one rank.
type Rank struct {
	streams [2]*forwarder

	mu     sync.Mutex
	holder map[int]*Process // by replica: the process that writes, or wrote last
}

// NewRank returns the output of a rank with degree replicas, which is written to
// c.
func NewRank(c *Console, rank, degree int) *Rank {
	return &Rank{
		streams: [2]*forwarder{newForwarder(rank, Stdout, c, degree), newForwarder(rank, Stderr, c, degree)},
		holder:  make(map[int]*Process),
	}
}

// Lost records that the position of the written output is unknown, since the head that wrote
// it is lost. The output continues where the first process begins or resumes.
func (r *Rank) Lost() {
	for _, f := range r.streams {
		f.lose()
	}
}

// Skip records that output up to the given positions has been written.
func (r *Rank) Skip(out [2]Written) {
	for s, f := range r.streams {
		f.mu.Lock()
		f.skip(out[s])
		f.mu.Unlock()
	}
}

// Rewind makes the output after a replica's position be written again, since that output may
// be wrong. It does so once in each generation, before that replica resumes.
func (r *Rank) Rewind(generation uint32, at Position) {
	for s, f := range r.streams {
		f.rewind(generation, at[s].Written)
	}
}

// Written returns the position up to which each stream has been written.
func (r *Rank) Written() (w [2]Written) {
	for s, f := range r.streams {
		w[s] = f.written(Stream(s))
	}
	return w
}

// Stop ends the writing of the rank's output, and returns the position up to which each stream
// has been written. It blocks while a write does.
func (r *Rank) Stop() (w [2]Written) {
	for s, f := range r.streams {
		w[s] = f.stop(Stream(s))
	}
	return w
}

// hold makes p the process that writes as a replica. It reports whether another process wrote as
// that replica before.
func (r *Rank) hold(replica int, p *Process) (taken bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.holder[replica]
	r.holder[replica] = p
	return old != nil && old != p
}

// holding calls do for each stream of the rank, if p is the process whose output counts as that of
// the replica. Two processes may have been started for one replica: a relieved process ends after its
// successor begins, and a process that was to relieve another one may end before it takes over.
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
