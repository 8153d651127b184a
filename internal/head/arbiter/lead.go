package arbiter

import (
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/base/lease"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

// lead is the state of a node as the head of a term. It begins empty in each term: the leases
// of earlier terms are over.
type lead struct {
	term      uint64 // 0: this node is not the head
	after     ID     // the head that has handed over to this node, as in Lead
	announced bool
	fresh     bool                 // announced as the head, while judge has not run yet
	until     time.Duration        // end of its lease
	longest   time.Duration        // latest end that its lease ever had, under any set of members
	resigning bool                 // it hands over as soon as it can
	changing  bool                 // a change of members has been proposed
	next      []ID                 // the members after that change
	reported  uint64               // the last reported number of changes
	leased    map[ID]time.Duration // by node: when its lease has certainly expired, by this node's clock
	proposed  map[ID]bool          // nodes whose loss has been proposed, which get no further lease
	suspected map[ID]bool
}

// checkLead makes this node the head, or ends its lead, according to the state of the log.
func (n *Node) checkLead(now time.Duration) {
	term := n.log.status().GetTerm()
	if n.lead.term != 0 && (!n.log.leads() || term != n.lead.term || n.term > n.lead.term) {
		if n.lead.announced {
			n.act(Yield{n.lead.term})
		}
		n.lead = lead{}
		if n.leader == n.self {
			n.leader, n.yielder = 0, n.self
		}
	}
	if n.lead.term == 0 && n.log.leads() && n.relays() {
		if term > n.term && n.log.settled() { // another member has all decisions, too
			n.log.stepDown()
			n.ready, n.next = 0, now+2*n.timing.promise()
		}
		return
	}
	if n.lead.term == 0 && n.log.leads() && term > n.term {
		after := ID(0)
		if n.leader == 0 && n.handedOver(n.yielder) {
			after = n.yielder
		}
		n.term, n.leader = term, n.self
		n.lead = lead{
			term: term, after: after, leased: make(map[ID]time.Duration),
			proposed: make(map[ID]bool), suspected: make(map[ID]bool),
		}
		for _, p := range n.peers {
			p.promised, p.since = 0, 0
		}
		n.renew(now)
	}
	if !n.lead.announced && n.Leads(now) {
		n.lead.announced, n.lead.fresh = true, true
		if len(n.log.state.Resigned) > 0 { // leases of the previous head may still be in force
			for _, id := range n.order {
				n.lead.leased[id] = now + n.timing.promise()
			}
		}
		n.act(Lead{n.lead.term, n.lead.after, n.log.state.Clone(), n.zero})
	}
}

// Resign ends the time of this node as the head. Its decision to hand over (decision.Resigned) is
// committed. If a change of members is under way, or there is no other member, Resign takes effect
// later. The node gives up the right to act, so the members elect another head without waiting for
// the end of its lease. The node still keeps the decisions, and votes. It stands for election again
// only if no other node does.
func (n *Node) Resign(now time.Duration) []Action {
	n.lead.resigning = n.lead.term != 0
	n.resign(now)
	return n.take()
}

func (n *Node) resign(now time.Duration) {
	if !n.lead.resigning || n.lead.changing || len(n.log.state.Members) == 1 || n.fenced {
		return
	}
	if n.lead.announced {
		n.act(Yield{n.lead.term})
	}
	n.lead, n.leader, n.yielder = lead{}, 0, n.self
	n.next = now + 2*n.timing.promise()
	n.beat(now)
}

// Leads reports whether this node may act as the head now: it is elected, it knows all
// decisions of earlier heads, and its lease is in force.
func (n *Node) Leads(now time.Duration) bool {
	return !n.fenced && n.lead.term != 0 && n.term == n.lead.term && n.log.settled() && now < n.lead.until
}

// renew extends the lease of the head by the promises of the members. The lease counts from
// the latest beat for which a majority, including the head, has promised. During a change of
// members, it takes a majority of the old members and one of the new members.
func (n *Node) renew(now time.Duration) {
	if n.lead.term == 0 {
		return
	}
	start, ok := n.backed(n.log.state.Members, now)
	if ok && n.lead.changing {
		var then time.Duration
		then, ok = n.backed(n.lead.next, now)
		start = min(start, then)
	}
	if !ok {
		return
	}
	n.lead.until = start + n.timing.Lease
	n.lead.longest = max(n.lead.longest, n.lead.until)
	n.promised = max(n.promised, start+n.timing.promise()) // until then the head itself votes for no other member
	n.extend(n.lead.until)
}

// backed returns when the head sent the latest beat for which a majority of the given members,
// including the head, has promised.
func (n *Node) backed(members []ID, now time.Duration) (start time.Duration, ok bool) {
	if len(members) == 1 {
		return now, members[0] == n.self
	}
	var since []time.Duration
	for _, m := range members {
		if p := n.peers[m]; p != nil && p.promised > 0 {
			since = append(since, p.since)
		}
	}
	others := len(members) / 2 // together with this node they are a majority
	if len(since) < others {
		return 0, false
	}
	slices.Sort(since)
	return since[len(since)-others], true
}

// grant leases a peer the right to act. The lease counts from the time at which the peer sent
// its last beat that this node has received. It never outlasts this node's own lease. The beat
// arrived after it was sent, so the lease has certainly expired lease.Wait after that arrival.
func (n *Node) grant(id ID, p *peer) time.Duration {
	d := min(n.timing.Lease, n.lead.until-p.came)
	if p.seq == 0 || d <= 0 || n.lead.proposed[id] {
		return 0
	}
	n.lead.leased[id] = max(n.lead.leased[id], p.came+lease.Wait(d, n.timing.Drift))
	return d
}

// maxVerdicts bounds the verdicts in one beat.
const maxVerdicts = 64

// verdictsFor returns the verdicts that a peer does not know. Members learn them from the log.
func (n *Node) verdictsFor(id ID, p *peer) []job.Verdict {
	if n.isMember(id) || p.epoch >= uint64(len(n.verdicts)) {
		return nil
	}
	next := n.verdicts[p.epoch:]
	return next[:min(len(next), maxVerdicts)]
}

// judge proposes the loss of each node that all its observers suspect and whose lease has
// expired.
func (n *Node) judge(now time.Duration) {
	if !n.Leads(now) {
		return
	}
	for _, id := range n.order {
		if n.isLost(id) || n.lead.proposed[id] {
			continue
		}
		own, _ := n.observer.Sighting(id, now)
		if n.peers[id].seq == 0 && now < n.peers[id].due {
			continue
		}
		if !own.Suspect() {
			delete(n.lead.suspected, id)
			continue
		}
		others, missing := n.testimonies(id, now)
		evidence, lost := detect.Judge(detect.Testimony{Observer: n.self, Sighting: own}, others, missing)
		if !n.lead.suspected[id] {
			n.lead.suspected[id] = true
			n.act(Suspected{evidence})
		}
		if !lost || now < n.lead.leased[id] {
			continue
		}
		n.lead.proposed[id] = true
		if err := n.propose(decision.Entry{Kind: decision.Lost, At: n.elapsed(now), Node: id, Text: evidence.String(), Testimonies: evidence.Testimonies}); err != nil {
			n.act(Broken{err})
		}
	}
	n.drain(now)
}

// testimonies collects the sightings of a node by its other observers. It omits observers that
// this node suspects, too. missing counts the observers without a recent report.
func (n *Node) testimonies(id ID, now time.Duration) (all []detect.Testimony, missing int) {
	for _, o := range n.order {
		if n.isLost(o) || !n.meet(o, id) {
			continue
		}
		if s, _ := n.observer.Sighting(o, now); s.Suspect() {
			continue
		}
		r, ok := n.peers[o].sightings[id]
		if !ok || now-r.at > detour*n.timing.Detect.Interval {
			missing++
			continue
		}
		all = append(all, detect.Testimony{Observer: o, Sighting: r.Sighting})
	}
	return all, missing
}
