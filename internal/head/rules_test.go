package head

import (
	"testing"

	"github.com/intrahpc/intra/internal/testkit/ruletest"
)

// rules are the rules that the walks prove necessary.
var rules = []ruletest.Rule{
	ruletest.New("../agent/agentlog/process.go", "a successor learns how long ago a death was handled", "			m.Ago = now - e.at\n", ""),
	ruletest.New("../agent/agentlog/process.go", "a process hears of a verdict once", "m.Verdict.Epoch <= p.epoch", "false"),
	ruletest.New("../agent/agentlog/process.go", "in the life that begins the program has not returned", "return old.is(job.KindFinish, job.KindDrained)", "return false"),
	ruletest.New("join.go", "what is born is started once that is kept", "	m.to(starting)\n	m.made = true\n	ms.act(Start{m.from, m.process, m.role})", "	m.to(starting)\n	m.made = true"),
	ruletest.New("join.go", "a joiner is told that it is one", "	s.Joiner = m.role == Joiner\n", ""),
	ruletest.New("join.go", "all have joined before anybody begins", "		case !m.ready():\n			return\n		}\n		if first == nil", "		}\n		if first == nil"),
	ruletest.New("join.go", "who comes later is introduced when all have said where they listen", "		case m.role == First && m.state.there() && !m.ready():\n			return\n", ""),
	ruletest.New("join.go", "nobody comes later before all have begun", "	if !ms.hasBegun || ms.phase == joining { // not before the others have begun\n		return\n	}\n", ""),
	ruletest.New("join.go", "a successor tells a joiner of the deaths since", "		if m.again { // it may have missed messages that were sent to all\n			ms.tellAll(m)\n		}\n", ""),
	ruletest.New("join.go", "a process hears of the deaths before it had its place", "		ms.ready(m)\n		return\n	}\n	ms.tellAll(m)\n}", "		ms.ready(m)\n		return\n	}\n}"),
	ruletest.New("join.go", "a process that could not be started leaves its place", "		m.to(ended)\n		ms.withdraw(m, e.Err)\n", "		m.to(ended)\n"),
	ruletest.New("join.go", "what could not be started under another head writes nothing", "	case m.state == dead, m.state == ended: // under another head; it never was, and so writes nothing\n		ms.settled(m)\n", ""),
	ruletest.New("join.go", "a joiner that was dismissed before its place was kept leaves its place", "		if !m.made { // it has not been started\n			ms.dismissed(m)\n			ms.settled(m) // another one may be wanted by now\n		}\n", ""),
	ruletest.New("join.go", "a spare of a lost host is waited for no longer", "			m.to(ended)\n			ms.startIfReady()\n			return\n", "			return\n"),
	ruletest.New("death.go", "a death is told to all", "		if o.told && o.state.there() {\n			ds.send(o,", "		if o.told && false {\n			ds.send(o,"),
	ruletest.New("death.go", "who has ended well is no failure", "	case ended: // it was let go\n", "	case ended:\n		h.lose(v, \"\")\n"),
	ruletest.New("death.go", "recovery hears of deaths", "	ds.plan.died(m)\n}", "}"),
	ruletest.New("death.go", "a death may be what is waited for", "	ds.members.startIfReady()\n	ds.members.releaseIfComplete()\n}\n\n// sayDead reports", "}\n\n// sayDead reports"),
	ruletest.New("leave.go", "a place is filled once its output is settled", "	m.settled = true\n	ms.fill(m.process)\n", "	m.settled = true\n"),
	ruletest.New("death.go", "who was dead before a succession comes to its end", "		if !m.settled && (m.state == dead || m.state == ended) { // that was under another head", "		if false {"),
	ruletest.New("death.go", "and so when its host is lost after it", "		case !m.settled && m.exit == nil && (m.state == dead || m.state == ended):", "		case false:"),
	ruletest.New("death.go", "spares of a lost host are gone", "		case m.role == Spare && m.state.there():", "		case false:"),
	ruletest.New("death.go", "a process without its control connection is killed", "	ds.after(lastWords, timer{kind: killDeaf, m: m})\n", ""),
	ruletest.New("death.go", "and one whose wrapper goes on", "	m.ending = &ending{job.CauseExit, \"its program ended, but the wrapper that started it did not\"}\n	ds.kill(m)\n", ""),
	ruletest.New("leave.go", "what is not needed leaves its place", "	m.to(ended)\n	ms.withdraw(m, \"not needed any more\")\n", "	m.to(ended)\n"),
	ruletest.New("kills.go", "who announces its death and does not die is killed", "		fs.after(lastWords, timer{kind: killMember, m: m})\n", ""),
	ruletest.New("kills.go", "a kill at a time comes about", "	fs.detailf(\"%v is killed on request\", m.process)\n	fs.kill(m)\n", "	fs.detailf(\"%v is killed on request\", m.process)\n"),
	ruletest.New("weibull.go", "the schedule goes on behind a injection", "	if fs.phase == working {\n		fs.awaitInjection()\n	}\n", ""),
	ruletest.New("end.go", "who does not go when told is killed", "	h.after(endGrace, timer{kind: killEverybody})\n", ""),
	ruletest.New("end.go", "and who does not when released", "	h.after(releaseGrace, timer{kind: killEverybody})\n", ""),
	ruletest.New("end.go", "and who does not when signalled", "	h.after(termGrace, timer{kind: killEverybody})\n}\n\n// InterruptCode", "}\n\n// InterruptCode"),
	ruletest.New("members.go", "nobody goes while somebody is to come", "	if len(ms.wanted) > 0 {\n		return false\n	}\n", ""),
	ruletest.New("members.go", "nor while a joiner is on its way", "		case m.coming():\n			return false\n		case m.alive()", "		case m.alive()"),
	ruletest.New("members.go", "nor before the end is kept of all that live", "		case m.alive() && ms.state.Places[m.process].Status != decision.Done:\n			return false\n", ""),
	ruletest.New("suspect.go", "the end goes whose rank has more replicas", "	case a <= 1 && b <= 1:\n		return nil\n	case a > b:\n		return p\n	}\n	return q", "	case a <= 1 && b <= 1:\n		return nil\n	case a < b:\n		return p\n	}\n	return q"),
	ruletest.New("suspect.go", "suspicion never kills the last of a rank", "	case a <= 1 && b <= 1:\n		return nil\n", "	case a <= 1 && b <= 1:\n		return p\n"),
	ruletest.New("members.go", "a rank that is through is not lost", " && !ms.state.Drained[v.Process.Rank] && !ms.config.replaces()", " && !ms.config.replaces()"),
	ruletest.New("members.go", "whether a rank is lost recovery says, if it can bring it back", " && !ms.config.replaces() {", " {"),
	ruletest.New("log.go", "a decision is carried out once", "		h.asked = h.asked[1:]\n", ""),
	ruletest.New("member.go", "who is gone counts until that is decided", "return m.role == First && m.state != dead }", "return m.role == First && m.state != dead && m.state != gone }"),
	ruletest.New("doubt.go", "all go back if something is wrong and it is not known whose fault that is", "		j.plan.lossAt = j.elapsed()\n	}\n	return back.Doubt(rank, d.Below, false, j.elapsed())\n", "		j.plan.lossAt = j.elapsed()\n	}\n	return nil\n"),
	ruletest.New("doubt.go", "and so in its other replicas", "		if d.stands && told.Generation == d.Generation {\n			j.letFail(m, told)\n		}\n", ""),
	ruletest.New("queue.go", "what follows from a decision waits until that is kept", "			q.carryOut(a)\n			return\n", "			q.carryOut(a)\n			continue\n"),
	ruletest.New("queue.go", "and so do events", "	for !q.keeping && !q.acting {", "	for !q.acting {"),
	ruletest.New("recover.go", "the output of a joiner goes on where that of its donor stood", "			d.Joined[i].Output = pl.members.places[d.Joined[i].Donor].stood\n", "			_ = i\n"),
	ruletest.New("recover.go", "it goes on when it is admitted", "			pl.act(Resume{m.from, j.Output, d.Generation, false})\n", ""),
	ruletest.New("recover.go", "in a rollback the output of all goes back", "				pl.act(Mute{m.from})\n", ""),
	ruletest.New("recover.go", "to where it stood at the backup", "			d.Outputs = encode(s.outputs)\n", ""),
	ruletest.New("recover.go", "who stands in a cut has written all", "	case job.ReplyDrained, job.ReplyJoined, job.ReplyReady:\n		pl.askQuiet(asked{m, &r})\n		return\n", ""),
	ruletest.New("recover.go", "in a rollback what has finished has not", "				if m.state == finished {\n					m.to(running)\n				}\n", ""),
	ruletest.New("recover.go", "a successor hears the end of what was told before", "		pl.recovery.happened(m, (*recovery.Head).Repeated)\n", ""),
	ruletest.New("recover.go", "a process that is back under another head goes on only once", "m.muted && r.Generation", "r.Generation"),
	ruletest.New("replace.go", "nobody writes in a place where another may", "!wanted || ms.unsettled(p) ||", "!wanted ||"),
	ruletest.New("replace.go", "a lost host is left", "	if !lost && !leaves && (old.verdict", "	if !leaves && (old.verdict"),
	ruletest.New("leave.go", "a joiner that was not started is dismissed at once", "	case was == chosen && ms.placed(m): // under another head, which has not started it\n		m.settled = true\n		ms.dismissed(m)\n", ""),
	ruletest.New("join.go", "nobody has a place before it is known what was found", "		case ms.unopened():\n", "		case ms.unopened() && !h.opening:\n"),
	ruletest.New("files.go", "a set is published once it is kept that it is whole", "	pl.propose(decision.Entry{Kind: decision.SetWhole, Set: &decision.Set{Number: a.Set, Cut: a.Cut, Files: a.Files}})\n", "	h.publish(&decision.Set{Number: a.Set, Cut: a.Cut, Files: a.Files})\n"),
	ruletest.New("files.go", "the job ends after its files are complete", "	pl.publishing++\n", ""),
	ruletest.New("hear.go", "what has finished is known", "	h.recovery.happened(m, (*recovery.Head).Finished)\n", ""),
	ruletest.New("restore.go", "what is born and was not started is started", "			h.members.launch(m)\n", ""),
	ruletest.New("restore.go", "what was not born is", "			h.members.choose(h.members.enroll(p, firstIncarnation, From{h.config.Of[p], p, firstIncarnation}, First))\n", "			h.members.enroll(p, firstIncarnation, From{h.config.Of[p], p, firstIncarnation}, First)\n"),
	ruletest.New("restore.go", "who has not begun is waited for and begins", "			h.phase = joining\n", ""),
	ruletest.New("restore.go", "a spare that waits can be given a place", "		if m.state = starting; x.Joined {\n			m.state = waiting\n		}\n", "		m.state = starting\n"),
	ruletest.New("restore.go", "who has the place of a spare is known by its name", "		from.Incarnation = firstIncarnation\n", ""),
	ruletest.New("restore.go", "who has its state is no joiner", "	if at.Incarnation == firstIncarnation || h.members.lived(p, at.Incarnation) {", "	if at.Incarnation == firstIncarnation {"),
	ruletest.New("restore.go", "the output goes on of whom the agent has not heard that", "		h.restoreVoice(m, x)\n", ""),
	ruletest.New("restore.go", "what has finished stays so", "		m.state, m.told = finished, true\n", "		m.state, m.told = starting, true\n"),
	ruletest.New("restore.go", "who has finished hears of deaths", "		case m.state == finished:\n			h.members.tellAll(m)\n", ""),
	ruletest.New("restore.go", "what was released is", "			h.release()\n", ""),
	ruletest.New("restore.go", "a job that was decided ends", "			h.finish()\n", ""),
	ruletest.New("restore.go", "the loss of a rank is known to a successor", "			h.members.conclude(last)\n", ""),
	ruletest.New("restore.go", "questions of an earlier head are not taken for its own", "	h.plan.number = s.Term << 32 // not to be taken for what a head before has asked\n", ""),
	ruletest.New("suspect.go", "a link that was restored is no reason", "	if !slices.ContainsFunc(j.links, func(o linkDoubt) bool { return o.sameLink(d) && o.since == d.since }) {\n		return\n	}\n", ""),
	ruletest.New("suspect.go", "a host that may be lost is waited for", "	if j.doubtful(m) || j.doubtful(other) ||", "	if"),
	ruletest.New("suspect.go", "of two that are stopped one stays", " && !j.stoppedNow(peer)", ""),
	ruletest.New("death.go", "who is relieved is killed", "	ds.kill(m)\n	m.settled = m.settled || !m.made\n", "	m.settled = m.settled || !m.made\n"),
	ruletest.New("death.go", "and all hear of that", "	ds.tell(v)\n	if v.Withdrawn {\n", "	if v.Withdrawn {\n"),
	ruletest.New("recover.go", "recovery learns which joiners had died", "			void = append(void, m.endpoint())\n", ""),
	ruletest.New("relieve.go", "who was to relieve a dead process has its place", "		ms.places[m.process] = next\n", ""),
	ruletest.New("restore.go", "who was relieved under another head is killed", "	h.act(Kill{m.from, syscall.SIGKILL})\n", ""),
	ruletest.New("restore.go", "who was to relieve a process is known to a successor", "			h.restore(p, at, there)\n		}\n	}\n	for i, node", "			_ = at\n		}\n	}\n	for i, node"),
	ruletest.New("drain.go", "the last replica does not end for a notice", "	case ls.other(m, l.Node) != nil:\n", "	case true:\n"),
	ruletest.New("drain.go", "a host goes once it has no process", " && !slices.ContainsFunc(ls.members.all, func(m *member) bool { return m.from.Node == l.Node && !m.settled }) {", " {"),
}

// unshown are rules that no walk proves necessary, with the reasons.
var unshown = []ruletest.Rule{
	// TestLinkIsJudgedByWhatIsKept shows it: one walk in 50,000 reaches that moment.
	ruletest.New("recover.go", "nobody is killed because of a backup that is not kept", "pl.recovery.decides == nil || pl.recovery.keeping || p", "pl.recovery.decides == nil || p"),
	// TestDoubtOnTheWayBack and TestDoubtAboutAMessageAfterAFailure show these: in the walks nothing is wrong since a certain safe point.
	ruletest.New("doubt.go", "what is wrong since before the backup that all go back to already is heard", "		return j.doubtedOnTheWay(rank)\n", "		return nil\n"),
	ruletest.New("doubt.go", "and so is what is older than what was decided on", " && !d.older(told) {", " {"),
	// TestAProgramThatFails and TestDoubtAtTheEnd show these: no walk reaches either.
	ruletest.New("doubt.go", "a program that fails again fails", "	j.letFail(d.by, &d.Doubt)\n", ""),
	ruletest.New("members.go", "nobody goes who may have to go back", " || ms.recovery.mayGoBack() {", " {"),
	// spare_given_back.txt shows it: one in 300,000 jobs of internal/testkit/simulation reaches that moment.
	ruletest.New("leave.go", "a spare that was not chosen is there for others", "	if ms.wanted[p] == incarnation {\n		ms.unwant(p)\n	}\n", "	delete(ms.wanted, p)\n"),
	// let_go_before_its_start.txt shows it: one in 800,000 jobs of internal/testkit/simulation reaches that moment.
	ruletest.New("join.go", "who was let go before its place was kept leaves it to another one", "			ms.settled(m) // another one may be wanted by now\n", "			m.settled = true\n"),
	// let_go_and_refused.txt shows it, and no job of internal/testkit/simulation.
	ruletest.New("join.go", "and so does who was let go and could not be started", "		ms.withdraw(m, e.Err)\n		ms.settled(m)\n", "		ms.withdraw(m, e.Err)\n		m.settled = true\n"),
	// broken_link_again.txt shows it: one in 50,000 jobs of internal/testkit/simulation reaches that moment.
	ruletest.New("suspect.go", "a link that breaks again has all of its time", " && o.since == d.since", ""),
	// freed_joiner.txt shows it: one in 70,000 jobs of internal/testkit/simulation reaches that moment.
	ruletest.New("restore.go", "who has been let go is not counted on", "	case role == Joiner && x.Freed:", "	case false:"),
	// The end of a link to a process that is dead, but not yet declared so, counts as a broken link, which the walks do not model.
	ruletest.New("join.go", "a death is decided before all begin without the dead", "		case m.state == gone: // and everybody has yet to hear of it\n			return\n", "		case m.state == gone:\n			continue\n"),
}

// table names the walks that have to fail without a rule.
var table = ruletest.Table{Root: ".", Rules: rules, Unshown: unshown, Test: "TestWalks", Soak: 60000, Sign: `seed \d+ |in no walk `}

// choices are the rules that choose the next process for a slot, and the tests that fail
// without them.
var choices = ruletest.Table{Root: ".", Rules: []ruletest.Rule{
	ruletest.New("replace.go", "a joiner is on another host than the other replicas of its rank", "(best == nil || together[best.ID] && !together[n.ID])", "best == nil"),
	ruletest.New("replace.go", "a joiner needs a free slot", "used[n.ID] < n.Slots &&", "n.Slots >= 0 &&"),
	ruletest.New("replace.go", "a host whose links break is left", "!lost && !leaves && (old.verdict == nil || old.verdict.Cause != job.CauseLink) {", "!lost && !leaves {"),
	ruletest.New("replace.go", "a joiner goes where the one before was", "	if !lost && !leaves && (old.verdict == nil || old.verdict.Cause != job.CauseLink) {", "	if false {"),
	ruletest.New("replace.go", "a joiner that leaves a host goes to another one", "n.ID != old.from.Node && ", ""),
	ruletest.New("replace.go", "no joiner goes to a lost host", "!lost && !ms.state.Leaves", "(!lost || true) && !ms.state.Leaves"),
	ruletest.New("replace.go", "the dead take no slots", "		if o.state < gone {\n			used", "		if true {\n			used"),
	ruletest.New("replace.go", "a spare takes a place away from the other replicas of the rank", "together[best.from.Node] && !together[m.from.Node]", "false"),
	ruletest.New("replace.go", "the dead of a rank are no reason to leave a host", "		if m.state < gone && m.process.Rank == p.Rank {\n", "		if m.process.Rank == p.Rank {\n"),
	ruletest.New("replace.go", "a spare that is about to be killed takes no place", " && m.ending == nil && !ms.state.Leaves(", " && !ms.state.Leaves("),
}, Test: "TestWh(ereAJoinerGoes|ichSpareTakesAPlace)", Sign: "--- FAIL: TestWh"}

// TestRulesStand looks for the text of every rule in the head. It must occur there exactly
// once.
func TestRulesStand(t *testing.T) {
	table.Stand(t)
	choices.Stand(t)
}

// TestRulesAreNeeded removes each rule from the head in turn, and walks without it: the
// walks must fail. That takes long, so the test runs only for the rules whose names
// INTRA_RULES matches.
func TestRulesAreNeeded(t *testing.T) {
	table.Needed(t)
	choices.Needed(t)
}
