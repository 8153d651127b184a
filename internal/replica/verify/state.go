package verify

import "slices"

// States is the protocol by which the replicas of a rank compare their registered state at
// safe points. Its methods are not safe for concurrent use.
//
// Each replica sends a hash of its state to all live peers and waits for theirs. If the
// hashes differ, the right one is that of most replicas, but of at least two. No replica
// continues before the replicas with another hash are dead, because until then they may
// pass on wrong data. The hashes of dead replicas count, too: the death of a replica does
// not make its state less reliable.
type States struct {
	me    int
	peers []statePeer
	point uint64 // the safe point that is being compared, or was compared last
	own   uint64
}

// statePeer holds what this replica knows about the state of a peer.
type statePeer struct {
	dead     bool
	finished bool
	said     map[uint64]uint64 // its hashes, by safe point; only of point and later ones
}

// Vote is the hash of the state of a replica.
type Vote struct {
	Replica int
	Hash    uint64
}

// Comparison holds the known states of all replicas at a safe point.
type Comparison struct {
	Outcome Outcome
	Votes   []Vote
	Faulty  []int // replicas whose state is wrong, including dead ones
	Left    int   // a replica whose program has returned without reaching this safe point; -1: none
}

// Outcome is the outcome of a comparison so far.
type Outcome uint8

// The outcomes.
const (
	Await   Outcome = iota // wait for hashes of other replicas, or for the deaths of the faulty ones
	Same                   // this replica may continue
	Wrong                  // the state of this replica is wrong
	Unknown                // no majority shows which state is wrong
)

// NewStates returns the protocol of the given replica of the rank.
func NewStates(replica, replicas int) *States {
	s := &States{me: replica, peers: make([]statePeer, replicas)}
	for p := range s.peers {
		s.Alive(p)
	}
	return s
}

// Alive marks a dead peer live, at a safe point that was already compared.
func (s *States) Alive(p int) { s.peers[p] = statePeer{said: make(map[uint64]uint64)} }

// Dead marks a peer dead, after everything that it sent was received.
func (s *States) Dead(p int) { s.peers[p].dead = true }

// Finished records that the program of a peer has returned, after everything that it sent
// was received.
func (s *States) Finished(p int) { s.peers[p].finished = true }

// Receive records the hash of a peer at a safe point.
func (s *States) Receive(p int, point, hash uint64) {
	if point >= s.point {
		s.peers[p].said[point] = hash
	}
}

// Asked reports whether there is a replica to compare with at a safe point.
func (s *States) Asked(point uint64) bool {
	for p := range s.peers {
		if _, said := s.peers[p].said[point]; said || s.lives(p) {
			return true
		}
	}
	return false
}

// Enter begins the comparison of a safe point, and returns the peers to which the hash
// must be sent. hash is that of the state of this replica.
func (s *States) Enter(point, hash uint64) (to []int) {
	s.point, s.own = point, hash
	for p := range s.peers {
		for old := range s.peers[p].said {
			if old < point {
				delete(s.peers[p].said, old)
			}
		}
		if s.lives(p) {
			to = append(to, p)
		}
	}
	return to
}

// Compare returns the state of the comparison.
func (s *States) Compare() Comparison {
	c := Comparison{Left: -1}
	waits := false
	for p := range s.peers {
		hash, said := s.peers[p].said[s.point]
		if p == s.me {
			hash, said = s.own, true
		}
		switch {
		case said:
			c.Votes = append(c.Votes, Vote{p, hash})
		case s.lives(p):
			waits = true
			if s.peers[p].finished {
				c.Left = p
			}
		}
	}
	if waits {
		return c
	}
	right, ok := s.right(c.Votes)
	if !ok {
		c.Outcome = Unknown
		return c
	}
	for _, v := range c.Votes {
		if v.Hash != right {
			c.Faulty = append(c.Faulty, v.Replica)
		}
	}
	switch {
	case s.own != right:
		c.Outcome = Wrong
	case slices.ContainsFunc(c.Faulty, s.lives):
	default:
		c.Outcome = Same
	}
	return c
}

// right returns the hash with the most votes. It fails if two hashes have equally many.
func (s *States) right(votes []Vote) (hash uint64, ok bool) {
	most := 0
	for _, v := range votes {
		n := 0
		for _, w := range votes {
			if w.Hash == v.Hash {
				n++
			}
		}
		switch {
		case n > most:
			most, hash, ok = n, v.Hash, true
		case n == most && v.Hash != hash:
			ok = false
		}
	}
	return hash, ok
}

// Counts reports whether this replica counts a comparison after which the replicas
// continue. The lowest live replica does so.
func (s *States) Counts() bool {
	for p := range s.me {
		if s.lives(p) {
			return false
		}
	}
	return true
}

func (s *States) lives(p int) bool { return p != s.me && !s.peers[p].dead }
