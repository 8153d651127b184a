package simulation

// rule is a rule of a machine: a text in a file, and what stands instead of it
// if the rule is left out.
type rule struct {
	file, name    string
	text, instead string
}

const (
	sdrDir      = "transport/sdr/"
	sectionDir  = "internal/section/"
	recoveryDir = "internal/recovery/"
	own         = "internal/simulation/"
)

// rules are those that whole jobs need. What is not here is for programs or
// callers that are wrong; or keeps memory and time in bounds; or is a second
// guard: frames of a life that was not announced cannot come under a head that
// has all know of newcomers before any of them sends; an update that a peer
// which is ahead has not sent was refused or lost, which is said; substitutes send
// in order what a dead process had not; a copy that is older than the last
// complete backup would wait for the next one to take its place; and a receive
// from any source that has lost its message would get it from a substitute, as
// that message depends on nothing that is yet to come.
var rules = []rule{
	{sdrDir + "seen.go", "a message enters the past when the program sees it",
		"	case req.awaited:\n", "	case true:\n"},
	{sdrDir + "match.go", "a probe shows a message",
		"	c.absorb(m.past)\n	return Status{Source: s.rank", "	return Status{Source: s.rank"},
	{sdrDir + "causal.go", "receives from any source leave what depends on later operations",
		"		if !known || l != nil && needs > l.counts[c.rank] {", "		if false && (!known || l != nil) {"},
	{sdrDir + "causal.go", "what is received is a part of the past",
		"				l.counts[r] = max(l.counts[r], binary.LittleEndian.Uint64(past[8+8*r:]))\n", ""},
	{sdrDir + "causal.go", "an operation lets receives match what waited for it",
		"	for _, o := range c.order {\n		c.ripen(o)\n	}\n", ""},
	{sdrDir + "cut.go", "operations are counted anew after a cut",
		"		clear(l.counts)\n", ""},
	{sdrDir + "core.go", "frames of lives that are over are refused",
		"	return h.Incarnation < pr.incarnation || h.Incarnation == pr.incarnation && !pr.alive", "	return false && pr.alive"},
	{sdrDir + "failure.go", "a substitute sends again",
		"						c.transmit(m, d)\n", ""},
	{sdrDir + "failure.go", "what a dead process has offered is asked of another one",
		"		case m.offers != 0:\n			if c.wants(m) {\n				c.ask(m)\n			}\n", "		case m.offers != 0:\n"},
	{sdrDir + "failure.go", "nothing is owed to the dead",
		"				m.lacking &^= d\n				m.first &^= d\n", "				_ = d\n"},
	{sdrDir + "receive.go", "a message is received once",
		"	if s.received.has(n) {\n		c.confirm(s, h, past)\n		c.consumed(p, cost)\n		return nil\n	}\n", ""},
	{sdrDir + "ack.go", "other replicas of the source hear what was received",
		"	for d := range each(now) {\n		c.ackOne(s, d)\n	}\n", ""},
	{sdrDir + "ack.go", "who waits for acknowledgements gets them",
		"			c.ackOne(s, pr.replica)\n", ""},
	{sdrDir + "send.go", "who waits for acknowledgements says so",
		"	want := r.waiting > 0 || c.draining && r.unfinished > 0", "	want := false"},
	{sdrDir + "send.go", "what a replica has already is not sent",
		"		if s.acked[d].has(number) {\n			live &^= 1 << d\n		}\n", "		_ = d\n"},
	{sdrDir + "cut.go", "nothing is kept from before a cut",
		"				c.abandon(s, s.next)\n", ""},
	{sdrDir + "cut.go", "payloads are drawn in at a cut",
		"{ return c.cut != nil && !c.cut.done }", "{ return false }"},
	{sdrDir + "cut.go", "a cut waits for all that was sent before it",
		"&& s.received.low < s.before {", "&& false {"},
	{sdrDir + "cut.go", "a cut waits for the bookmarks",
		"	if c.cut.missing > 0 {", "	if false {"},
	{sdrDir + "cut.go", "newcomers may wait for acknowledgements of what was sent behind the cut",
		"		s.unacked = 1\n", ""},
	{sdrDir + "ahead.go", "what replicas have said that have passed the cut is kept",
		"		s.acked[d], s.later[d] = s.later[d], numbers{}\n", "		s.acked[d], s.later[d] = numbers{}, numbers{}\n"},
	{sdrDir + "newcomer.go", "newcomers live",
		"	r.live |= 1 << n.Replica\n", "	_ = r\n"},
	{sdrDir + "newcomer.go", "frames to newcomers go over new links",
		"	c.actions = append(c.actions, Action{Kind: ActRenew, To: p})\n", ""},
	{sdrDir + "position.go", "a position does not hold what was sent behind the cut",
		"			if m.number >= before[rank] {", "			if false {"},
	{sdrDir + "position.go", "a position holds the numbers of what was received",
		"				s.due, s.before, s.received = n, n, numbers{low: n}\n", "				_ = s\n"},
	{sdrDir + "position.go", "a position holds the numbers of what was sent",
		"				c.outStream(ctx, rank).next = at.sent[rank]\n", ""},
	{sdrDir + "safepoint.go", "calls that are blocked end when the job goes back",
		"		e.err, e.aborted = err, true\n", "		e.err, e.aborted = nil, true\n"},
	{sectionDir + "machine.go", "a task is not run while its update is received into place",
		"return v.tasks[t].state == todo && v.tasks[t].reserved < 0 }", "return v.tasks[t].state == todo }"},
	{sectionDir + "receive.go", "an update of a task that runs is dropped",
		"	if t.state != todo || t.reserved >= 0 {", "	if t.state == received || t.reserved >= 0 {"},
	{sectionDir + "receive.go", "an update goes into place once",
		"	if t.state == ranHere || t.state == received || t.reserved >= 0 {", "	if t.state == ranHere || t.state == received {"},
	{sectionDir + "receive.go", "an update that breaks off frees its task",
		"		m.tasks[u.Task].reserved = -1\n", ""},
	{sectionDir + "receive.go", "nobody waits for an update that was refused",
		"		m.tasks[u.Task].skipped[u.Peer] = true\n", ""},
	{sectionDir + "receive.go", "nobody waits for an update that was lost",
		"	m.Refused(u)\n	return nil\n", "	return nil\n"},
	{sectionDir + "receive.go", "nobody waits for an early update that was refused",
		"		m.inbox.skip(u.Peer, u.Section)\n", ""},
	{sectionDir + "inbox.go", "nobody waits for an early update that did not fit",
		"		b.skip(f.peer, section)\n", ""},
	{sectionDir + "machine.go", "nobody waits for the dead",
		"func (m *Machine) Dead(p int) { m.peers[p].dead = true }", "func (m *Machine) Dead(p int) {}"},
	{sectionDir + "machine.go", "claims are believed for a while",
		"	first := m.held\n", "	first := m.held\n	if first == 0 {\n		return 0\n	}\n"},
	{sectionDir + "machine.go", "early updates are applied at the entry",
		"			m.arrived(f.peer, f.task, f.at, f.token)\n", "			m.tasks[f.task].has[f.peer] = true\n"},
	{sectionDir + "machine.go", "a newcomer begins with the section of the others",
		"	m.number, m.first, m.chain = at.Number, at.Number, at.Chain\n", "	m.chain = at.Chain\n"},
	{sectionDir + "machine.go", "updates are sent",
		"	if m.shape.Policy != sched.Replicate {\n		m.toPeersWithout(Send, t)\n	}\n", ""},
	{recoveryDir + "return.go", "a newer order makes the way back begin again",
		"		r.order, r.stage, r.resumed = &o, giving, false\n", "		r.order, r.resumed = &o, false\n"},
	{recoveryDir + "return.go", "a state that overtakes its order is kept",
		"	r.given[generation] = state\n", "	if r.order != nil && generation == r.order.Generation {\n		r.given[generation] = state\n	}\n"},
	{recoveryDir + "return.go", "a step of an older order counts for nothing",
		"	if r.order == nil || r.order.Generation != s.Order.Generation {", "	if r.order == nil {"},
	{recoveryDir + "rollback.go", "a death in a rollback begins it again",
		"	if !alive || len(h.Failed()) == 0 && h.back.phase != restoring {", "	if !alive || len(h.Failed()) == 0 {"},
	{recoveryDir + "rollback.go", "a rollback ends the cut",
		"	h.cut, h.attempt = cut{}, nil\n", "	h.attempt = nil\n"},
	{recoveryDir + "rollback.go", "a backup under way is void in a rollback",
		"	h.cut, h.attempt = cut{}, nil\n", "	h.cut = cut{}\n"},
	{recoveryDir + "rollback.go", "everybody is back before the program goes on",
		"		if h.all(func(s *seat) bool { return s.ready }) {", "		if true {"},
	{recoveryDir + "rollback.go", "who is back holds his state",
		"		*copies = append(*copies, holder{process: s.process, birth: s.birth, stored: true, source: true})\n", "		_ = copies\n"},
	{recoveryDir + "head.go", "the next donor begins anew",
		"			q.donor, q.asked, q.copied, q.moving = job.Process{}, false, false, false\n", ""},
	{recoveryDir + "head.go", "nobody comes to a cut after a rank has finished",
		"	if !h.rest {\n		h.cease()\n	}\n", ""},
	{recoveryDir + "replace.go", "who cannot join any more is dismissed",
		"	if h.rest && h.back.phase == none && len(h.Failed()) == 0 {", "	if false {"},
	{recoveryDir + "replace.go", "who cannot be started is asked for again, and not for ever",
		"	*s = seat{process: s.process, birth: s.birth, attempts: s.attempts, refused: why}\n	return h.advance()\n", "	s.refused = why\n	return nil\n"},
	{recoveryDir + "cut.go", "all have said how far they are",
		"	if h.cut.phase == asking && h.all(func(s *seat) bool { return s.counted }) {", "	if h.cut.phase == asking {"},
	{recoveryDir + "cut.go", "the cut is ahead of everybody",
		"		n := h.cut.most + 1\n", "		n := max(h.cut.most, 1)\n"},
	{recoveryDir + "cut.go", "all have drained",
		"		if h.all(func(s *seat) bool { return s.drained }) && h.transferred() {", "		if h.transferred() {"},
	{recoveryDir + "cut.go", "all know the newcomers before they go on",
		"	if h.cut.phase == admitting && h.all(func(s *seat) bool { return s.admitted }) {", "	if h.cut.phase == admitting {"},
	{recoveryDir + "backup.go", "a copy that may have come from the dead is none",
		"				if k.stored || k.source {", "				if true {"},
	{recoveryDir + "backup.go", "the dead hold nothing",
		"				if k.process == p && k.birth == birth {\n					died = true\n					continue\n				}\n", ""},
	{recoveryDir + "backup.go", "the source of a copy was in the cut",
		"s.alive() && s.drained {", "s.alive() {"},
	{recoveryDir + "slots.go", "a complete backup is kept until the next one is",
		"		p.next = kept[T]{number, copy}\n", "		p.next, p.full = kept[T]{number, copy}, kept[T]{}\n"},
	{recoveryDir + "member.go", "who was asked waits at the next safe point",
		"	case m.asked && m.number == 0 && m.point > m.told:\n		return Step{Kind: Wait}\n", ""},
	{recoveryDir + "member.go", "what is asked in a cut is about a later one",
		"		m.asked, m.number = false, 0 // what comes now is about a later cut\n", ""},
	{recoveryDir + "loss.go", "a job does not go on that has left its life for a backup that is lost",
		"	if h.complete == nil { // those that have left their old life cannot go on\n		return h.backupLost()\n	}\n", ""},
	{own + "decisions_test.go", "conclusions are drawn after an event that had to wait",
		"			h.settle()\n			h.releaseIfComplete()\n			return\n", "			return\n"},
	{sdrDir + "ahead.go", "what a dead process had sent behind the cut is taken back",
		"		if m.cut < c.cut.number {\n			delete(s.live, n)", "		if false {\n			delete(s.live, n)"},
	{sdrDir + "ahead.go", "a message that is sent once more behind the cut is not taken back",
		"	m.cut = h.Args[5]\n", ""},
	{recoveryDir + "replace.go", "a newcomer has all its links before it joins",
		"		if q != s && !(s.linked[q.process] && s.links[q.process]) {", "		if false && q != s {"},
	{recoveryDir + "cut.go", "newcomers have their state",
		"&& h.transferred() {", "{"},
	{recoveryDir + "backup.go", "a backup is complete when all copies are stored",
		"				done = done && k.stored\n", "				_ = k\n"},
	{recoveryDir + "member.go", "the dead get nothing",
		"	m.Forget(p)\n	m.Transferred(p)\n", ""},
	{recoveryDir + "files.go", "a set whose writer has died is given up",
		"		if w.process == p && w.birth == birth && !w.stored {", "		if false && !w.stored {"},
	{own + "state_test.go", "a copy that was made while the job began to go back is not kept",
		"	if p.member.Generation() != generation {\n		return nil // younger than what the job goes back to\n	}\n", "	_ = generation\n"},
	{recoveryDir + "head.go", "what is from before a rollback does not count",
		"	if r.Generation != h.generation {", "	if false {"},
	{recoveryDir + "loss.go", "a backup that is lost on the way back to it is said to be so",
		"		if h.complete == nil && h.back.begun {\n			return h.backupLost()\n		}\n", ""},
	{recoveryDir + "head.go", "the cut is void in a rollback",
		"		if h.back.phase != none {\n			return nil // the cut is void\n		}\n", ""},
}

// unshown are rules without which no job has been seen to fail. Tests of their
// packages show them. What is lacking here:
//   - acknowledgements of what is taken back reach a rank mostly after the cut;
//   - links that are let go of late write what the life before computed, which
//     is the same in all but the words of a section that is torn;
//   - a rank that is through is seldom lost before another one sends the job back;
//   - only an automatic policy takes a backup before the place of one that was void;
//   - a state of a dead donor has to be slower than a whole cut with the next one;
//   - the last of two holders has to be an end of a link that breaks;
//   - and deaths and ends come through the log, in the order in which they were
//     kept, so that only what commutes with a cut can overtake what is kept.
var unshown = []rule{
	{sdrDir + "ahead.go", "what is heard of a message that was taken back is forgotten",
		"		s.acked[d], s.later[d] = s.later[d], numbers{}\n", "		s.later[d] = numbers{}\n"},
	{recoveryDir + "return.go", "links let go of the memory before it is restored",
		"		s.Kind = Stop\n", "		s.Kind = Stop\n		r.stage++\n		return r.Next(self)\n"},
	{recoveryDir + "rollback.go", "all ranks are needed again when the job goes back",
		"			clear(h.through)\n", ""},
	{recoveryDir + "head.go", "the others can do without a rank that is through",
		"return h.alive(rank) == 0 && !h.through[rank] }", "return h.alive(rank) == 0 }"},
	{recoveryDir + "slots.go", "what is younger is void when the job goes back",
		"	for _, p := range s.ranks {\n		p.next = kept[T]{}\n	}\n", ""},
	{recoveryDir + "member.go", "a newcomer that was admitted takes no other state",
		"	return !m.rolled && !m.left && len(m.admit) == 0 && generation >= m.generation && number >= m.at\n", "	return true\n"},
	{recoveryDir + "loss.go", "the copies of all but the victim of a broken link are enough",
		"		if left == 0 {\n			return false\n		}\n", "		_ = left\n"},
	{own + "decisions_test.go", "events wait for what is kept",
		"	for !h.keeping && !h.acting {", "	for !h.acting {"},
}
