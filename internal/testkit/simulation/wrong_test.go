package simulation

import (
	"bytes"
	"math/rand/v2"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/sdr"
)

// wrong is the only frame of a job whose contents are wrong according to the hash of its
// receiver. Its bits are right, so the job continues even if the error is not found. The
// replicas of its sender have to find the error, unless the receiver dies, or all of them
// die, or the job rolls back.
type wrong struct {
	taker, by   *process
	incarnation uint32   // incarnation in the frame
	number      uint64   // number of the message
	passed      uint64   // number of safe points that the sender had passed when the receiver got the message
	cut         uint64   // last cut that the sender had passed when it sent the frame
	generation  uint32   // generation in which the receiver got the message; in later ones it may get the right contents
	payload     []byte   // payload of the frame
	hash        uint64   // the wrong hash
	others      []uint32 // indexes in world.processes of those that compare it
	open        bool     // the fault is not found yet
}

// leastWrong is the size of the smallest message that may be wrong. Two larger messages
// that exist at the same time hardly ever have the same contents, unless they are all
// zeros.
const leastWrong = 24

// err decides whether messages are compared, and which message is wrong.
func (s *spec) err() {
	random := rand.New(rand.NewPCG(s.seed, 7))
	if s.mirror || random.IntN(3) > 0 {
		return
	}
	s.compared = true
	if random.IntN(4) > 0 {
		s.wrong = 1 + random.IntN(120)
	}
	s.doomed = random.IntN(3) > 0
}

// compare switches the comparison of messages on.
func (p *process) compare(c *sdr.Config) {
	if p.w.spec.compared {
		c.Sum, c.Differ = p.sum, p.differ
	}
}

// taking is the frame that a process is receiving.
type taking struct {
	header *transport.Header
	from   *process
}

// sum returns the hash of a message that the process posts or has received.
func (p *process) sum(payload []byte) uint64 {
	w, hash := p.w, xxh3.Hash(payload)
	if x := w.wrong; x != nil && x.taker == p && x.generation == p.member.Generation() && p.cutting && bytes.Equal(x.payload, payload) { // the message is reported again after a cut
		return x.hash
	}
	at := p.taking
	if at == nil || len(payload) < leastWrong || bytes.Count(payload, []byte{0}) == len(payload) {
		return hash
	}
	if w.hashed++; w.hashed != w.spec.wrong {
		return hash
	}
	x := &wrong{taker: p, by: at.from, incarnation: at.header.Incarnation, number: at.header.Args[1], passed: at.from.passed, cut: at.header.Args[5],
		generation: p.member.Generation(), payload: bytes.Clone(payload), hash: hash ^ 1, open: true}
	w.wrong = x
	for q := range p.lives {
		x.comparedBy(w, q)
	}
	if w.spec.doomed && len(x.others) > 0 {
		w.doomed = append(w.doomed, doomed{x.by.self, w.steps + w.random.IntN(300)})
	}
	w.seen["a message is wrong"]++
	return x.hash
}

// comparedBy records that the process in a slot compares the message, if it is another
// replica of the sender.
func (x *wrong) comparedBy(w *world, at job.Process) {
	if at.Rank != x.by.self.Rank || at == x.by.self {
		return
	}
	for i, p := range w.processes {
		if p.self == at && p.birth == x.taker.linkOf(at, 0).birth {
			x.others = append(x.others, uint32(i))
		}
	}
}

// differ handles a difference: the replicas of the rank of p have sent different contents.
func (p *process) differ(d *sdr.Difference) {
	w, x := p.w, p.w.wrong
	if x != nil && (d.From != x.by.self.Rank || d.Number != x.number) && slices.ContainsFunc(d.Sent, func(s sdr.Sent) bool { return s.Hash == x.hash }) {
		return // it is another message with the same contents, which the receiver cannot distinguish from the wrong one after a cut
	}
	if x == nil || d.From != x.by.self.Rank || d.To != x.taker.self.Rank || d.Number != x.number {
		w.fail("%v: %v, but nothing was wrong with that", p, d)
		return
	}
	for _, s := range d.Sent {
		if s.Hash == x.hash && (s.Replica != x.by.self.Replica || s.Incarnation != x.incarnation) {
			w.fail("%v: %v, but replica %d (%d) is blamed for the wrong one: %v has sent it", p, d, s.Replica, s.Incarnation, x.by)
		}
	}
	if x.open {
		w.seen["a wrong message is found"]++
		if x.by.dead {
			w.seen["a wrong message of a dead process is found"]++
		}
	}
	x.open = false
}

// found reports an error unless the wrong message that p has received was found.
func (p *process) found(when string) {
	x, w := p.w.wrong, p.w
	if x == nil || !x.open || x.taker != p || p.dead || w.head.code != 0 {
		return
	}
	if i := slices.IndexFunc(x.others, func(i uint32) bool { return !w.processes[i].dead }); i >= 0 {
		w.fail("%v: message %d of %v, which %v has taken, is wrong, and %v has not found it", when, x.number, x.by, p, w.processes[x.others[i]])
	}
	w.seen["a wrong message is not found: no process could compare it"]++
	x.open = false
}

// foundInCut is called at the end of a cut, when all messages from before the cut were
// compared. If the sender died beyond the safe point without having passed the cut, its
// later messages may be withdrawn.
func (p *process) foundInCut(number uint64, joined []sdr.Joiner) {
	x := p.w.wrong
	switch {
	case x == nil || x.taker != p || !x.open:
	case x.passed < number:
		p.found("behind the cut")
	case x.cut < number:
		x.open = false
	default:
		for _, j := range joined {
			x.comparedBy(p.w, job.Process{Rank: j.Rank, Replica: j.Replica})
		}
	}
}

// forgiven drops the expectation, because the job rolls back.
func (p *process) forgiven() {
	if x := p.w.wrong; x != nil && (x.taker == p || x.by == p) {
		x.open = false
	}
}

// report makes some process report all hashes that it has not reported yet. Real processes
// do this four times a second.
func (w *world) report() {
	p := w.processes[w.random.IntN(len(w.processes))]
	if !p.dead && p.msgs != nil {
		p.msgs.SendSums()
	}
}
