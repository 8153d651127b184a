package verify

import "slices"

// States is the protocol by which the replicas of a rank compare their registered
// state at safe points. Its methods are not safe for concurrent use.
//
// Each says a hash of its state and waits for those of all that live. If they differ,
// what most of them, and at least two, have is right. Nobody goes on before those that
// have something else are dead: until then they may hand on what is wrong. The words of
// the dead count: who died after it spoke was no less right for that.
type States struct {
	me    int
	peers []statePeer
	point uint64 // the safe point that is compared, or was last
	own   uint64
}

// statePeer is what is known of the state of another replica.
type statePeer struct {
	dead     bool
	finished bool
	said     map[uint64]uint64 // hashes, by safe point from the one that is compared on
}

// Vote is the hash of the state that a replica has.
type Vote struct {
	Replica int
	Hash    uint64
}

// Comparison is what is known of a safe point.
type Comparison struct {
	Outcome Outcome
	Votes   []Vote
	Guilty  []int // whose state is wrong, the dead too
	Left    int   // who has finished its program without this safe point, -1: nobody
}

// Outcome says how a comparison stands.
type Outcome uint8

// The outcomes.
const (
	Await   Outcome = iota // for words of others, or for the deaths of the guilty
	Same                   // go on
	Wrong                  // the state here is wrong
	Unknown                // it is not known whose is
)

// NewStates returns the protocol of one of so many replicas.
func NewStates(replica, replicas int) *States {
	s := &States{me: replica, peers: make([]statePeer, replicas)}
	for p := range s.peers {
		s.Alive(p)
	}
	return s
}

// Alive makes a peer live that was dead, at a safe point after it was compared.
func (s *States) Alive(p int) { s.peers[p] = statePeer{said: make(map[uint64]uint64)} }

// Dead removes a peer, once all that it has said was heard.
func (s *States) Dead(p int) { s.peers[p].dead = true }

// Finished notes that the program of a peer has returned, once all that it has said was
// heard.
func (s *States) Finished(p int) { s.peers[p].finished = true }

// Hear takes in the hash that a peer has at a safe point.
func (s *States) Hear(p int, point, hash uint64) {
	if point >= s.point {
		s.peers[p].said[point] = hash
	}
}

// Asked reports whether there is anybody to compare with at a safe point.
func (s *States) Asked(point uint64) bool {
	for p := range s.peers {
		if _, said := s.peers[p].said[point]; said || s.lives(p) {
			return true
		}
	}
	return false
}

// Enter begins the comparison of a safe point, at which the state has that hash, and
// returns to whom it is to be said.
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

// Compare says how the comparison stands.
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
			c.Guilty = append(c.Guilty, v.Replica)
		}
	}
	switch {
	case s.own != right:
		c.Outcome = Wrong
	case slices.ContainsFunc(c.Guilty, s.lives):
	default:
		c.Outcome = Same
	}
	return c
}

// right returns what all have, or else what most have, and at least two.
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

// Counts reports whether this replica is the one that counts a comparison after which it
// goes on: the lowest one that lives.
func (s *States) Counts() bool {
	for p := range s.me {
		if s.lives(p) {
			return false
		}
	}
	return true
}

func (s *States) lives(p int) bool { return p != s.me && !s.peers[p].dead }
