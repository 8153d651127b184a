package head

import (
	"testing"

	"github.com/intrahpc/intra/internal/testkit/ruletest"
)

// rules are the rules that the walks prove necessary.
var rules = []ruletest.Rule{
	ruletest.New("../agent/agentlog/process.go", "a successor learns how long ago a death was handled", "			m.Ago = now - e.at\n", ""),
	ruletest.New("../agent/agentlog/process.go", "a process receives a verdict once", "m.Verdict.Epoch <= p.epoch", "false"),
	ruletest.New("../agent/agentlog/process.go", "after a rollback the program has not returned", "return old.is(job.KindFinish, job.KindDrained)", "return false"),
	ruletest.New("join.go", "a process is started once its placement is kept", "	m.to(starting)\n	m.made = true\n	ms.act(Start{m.from, m.process, m.role})", "	m.to(starting)\n	m.made = true"),
	ruletest.New("join.go", "a joiner learns that it is one", "	s.Joiner = m.role == Joiner\n", ""),
	ruletest.New("join.go", "no process begins before all have joined", "		case !m.ready():\n			return\n		}\n		if first == nil", "		}\n		if first == nil"),
	ruletest.New("join.go", "a joiner gets its links once all processes have reported where they listen", "		case m.role == First && m.state.there() && !m.ready():\n			return\n", ""),
	ruletest.New("join.go", "no joiner gets its links before all processes have begun", "	if !ms.hasBegun || ms.phase == joining { // not before the others have begun\n		return\n	}\n", ""),
	ruletest.New("join.go", "a successor sends a joiner the deaths since it joined", "		if m.again { // the process may have missed messages that were sent to all\n			ms.tellAll(m)\n		}\n", ""),
	ruletest.New("join.go", "a process receives the deaths from before it had its slot", "		ms.ready(m)\n		return\n	}\n	ms.tellAll(m)\n}", "		ms.ready(m)\n		return\n	}\n}"),
	ruletest.New("join.go", "a process that could not be started leaves its slot", "		m.to(ended)\n		ms.withdraw(m, e.Err)\n", "		m.to(ended)\n"),
	ruletest.New("join.go", "a process that could not be started under an earlier head writes nothing", "	case m.state == dead, m.state == ended: // an earlier head has declared it dead; the process never ran, and so writes nothing\n		ms.settled(m)\n", ""),
	ruletest.New("join.go", "a joiner that was dismissed before its slot was kept leaves its slot", "		if !m.made { // no agent was ordered to start the process\n			ms.dismissed(m)\n			ms.settled(m) // the slot may need another process by now\n		}\n", ""),
	ruletest.New("join.go", "the start of the job does not wait for a spare of a lost host", "			m.to(ended)\n			ms.startIfReady()\n			return\n", "			return\n"),
	ruletest.New("death.go", "a verdict is sent to all processes", "		if o.informed && o.state.there() {\n			ds.send(o,", "		if o.informed && false {\n			ds.send(o,"),
	ruletest.New("death.go", "a process that was let go is no failure", "	case ended: // the process was let go\n", "	case ended:\n		ds.members.lose(v, \"\")\n"),
	ruletest.New("death.go", "recovery receives deaths", "	ds.plan.died(m)\n}", "}"),
	ruletest.New("death.go", "a death may complete the processes that the job waits for", "	ds.members.startIfReady()\n	ds.members.releaseIfComplete()\n}\n\n// sayDead reports", "}\n\n// sayDead reports"),
	ruletest.New("leave.go", "a slot is filled once its output is complete", "	m.settled = true\n	ms.fill(m.process)\n", "	m.settled = true\n"),
	ruletest.New("death.go", "the output of a process that died under an earlier head is completed", "		if !m.settled && (m.state == dead || m.state == ended) { // the process died under an earlier head", "		if false {"),
	ruletest.New("death.go", "it is also completed if the host is lost after the process", "		case !m.settled && m.exit == nil && (m.state == dead || m.state == ended):", "		case false:"),
	ruletest.New("death.go", "the loss of a host ends its spares", "		case m.role == Spare && m.state.there():", "		case false:"),
	ruletest.New("death.go", "a process without its control connection is killed", "	ds.after(lastWords, timer{kind: killUnreachable, m: m})\n", ""),
	ruletest.New("death.go", "a process whose wrapper outlives the program is killed", "	m.ending = &ending{job.CauseExit, \"its program ended, but the wrapper that started it did not\"}\n	ds.kill(m)\n", ""),
	ruletest.New("leave.go", "a process that is not needed leaves its slot", "	m.to(ended)\n	ms.withdraw(m, \"not needed any more\")\n", "	m.to(ended)\n"),
	ruletest.New("kills.go", "a process that announces its death and does not die is killed", "		fs.after(lastWords, timer{kind: killMember, m: m})\n", ""),
	ruletest.New("kills.go", "a kill at a time is carried out", "	fs.detailf(\"%v is killed on request\", m.process)\n	fs.kill(m)\n", "	fs.detailf(\"%v is killed on request\", m.process)\n"),
	ruletest.New("weibull.go", "the schedule continues after an injection", "	if fs.phase == working {\n		fs.awaitInjection()\n	}\n", ""),
	ruletest.New("end.go", "a process that ignores End is killed", "	h.after(endGrace, timer{kind: killEverybody})\n", ""),
	ruletest.New("end.go", "a process that does not exit when released is killed", "	h.after(releaseGrace, timer{kind: killEverybody})\n", ""),
	ruletest.New("end.go", "a process that does not exit when signalled is killed", "	h.after(termGrace, timer{kind: killEverybody})\n}\n\n// InterruptCode", "}\n\n// InterruptCode"),
	ruletest.New("members.go", "no process is released while a joiner has no state yet", "		case m.coming():\n			return false\n		case m.alive()", "		case m.alive()"),
	ruletest.New("members.go", "no process is released before the end of every live one is kept", "		case m.alive() && ms.state.Places[m.process].Status != decision.Done:\n			return false\n", ""),
	ruletest.New("suspect.go", "the end whose rank has more replicas is killed", "	case a <= 1 && b <= 1:\n		return nil\n	case a > b:\n		return p\n	}\n	return q", "	case a <= 1 && b <= 1:\n		return nil\n	case a < b:\n		return p\n	}\n	return q"),
	ruletest.New("suspect.go", "suspicion never kills the last of a rank", "	case a <= 1 && b <= 1:\n		return nil\n", "	case a <= 1 && b <= 1:\n		return p\n"),
	ruletest.New("members.go", "a rank that has finished and flushed its messages is not lost", " && !ms.state.Drained[v.Process.Rank] && !ms.restores()", " && !ms.restores()"),
	ruletest.New("members.go", "recovery decides about a lost rank if it can restore ranks", " && !ms.restores() {", " {"),
	ruletest.New("log.go", "a decision is carried out once", "		h.asked = h.asked[1:]\n", ""),
	ruletest.New("member.go", "an exited process counts as alive until its verdict", "return m.role == First && m.state != dead }", "return m.role == First && m.state != dead && m.state != gone }"),
	ruletest.New("dispute.go", "all processes roll back for an error that no process can be blamed for", "		j.plan.lossAt = j.elapsed()\n	}\n	return back.Dispute(rank, d.Below, false, j.elapsed())\n", "		j.plan.lossAt = j.elapsed()\n	}\n	return nil\n"),
	ruletest.New("dispute.go", "a failure that stands ends the other replicas of the rank, too", "		if d.stands && reported.Generation == d.Generation {\n			j.letFail(m, reported)\n		}\n", ""),
	ruletest.New("queue.go", "the actions after a decision wait until it is kept", "			q.carryOut(a)\n			return\n", "			q.carryOut(a)\n			continue\n"),
	ruletest.New("queue.go", "events wait while a decision is being kept", "	for !q.keeping && !q.acting {", "	for !q.acting {"),
	ruletest.New("recover.go", "the output of a joiner continues at the position of its donor", "			d.Joined[i].Output = pl.members.places[d.Joined[i].Donor].stood\n", "			_ = i\n"),
	ruletest.New("recover.go", "the output of a joiner continues when it is admitted", "			pl.act(Resume{m.from, j.Output, d.Generation, false})\n", ""),
	ruletest.New("recover.go", "in a rollback the output of every process is muted", "				pl.act(Mute{m.from})\n", ""),
	ruletest.New("recover.go", "a backup records the positions of output", "			d.Outputs = encode(s.outputs)\n", ""),
	ruletest.New("recover.go", "the reply of a process in a cut waits for all its output", "	case job.ReplyDrained, job.ReplyJoined, job.ReplyReady:\n		pl.askQuiet(asked{m, &r})\n		return\n", ""),
	ruletest.New("recover.go", "in a rollback a finished process runs again", "				if m.state == finished {\n					m.to(running)\n				}\n", ""),
	ruletest.New("recover.go", "recovery learns that an agent has repeated all messages", "		pl.recovery.happened(m, (*recovery.Head).Repeated)\n", ""),
	ruletest.New("recover.go", "output that continued under an earlier head does not continue twice", "m.muted && r.Generation", "r.Generation"),
	ruletest.New("replace.go", "no process gets a slot whose earlier process may still write", "!wanted || ms.unsettled(p) ||", "!wanted ||"),
	ruletest.New("replace.go", "a joiner leaves a lost host", "	if !lost && !leaves && (old.verdict", "	if !leaves && (old.verdict"),
	ruletest.New("leave.go", "a joiner that was not started is dismissed at once", "	case was == chosen && ms.placed(m): // an earlier head has chosen the process, and has not started it\n		m.settled = true\n		ms.dismissed(m)\n", ""),
	ruletest.New("join.go", "no process has a slot before the files are known", "		case ms.unopened():\n", "		case ms.unopened() && !ms.opening:\n"),
	ruletest.New("files.go", "a set is published once the decision about its files is kept", "	pl.propose(decision.Entry{Kind: decision.SetWhole, Set: &decision.Set{Number: a.Set, Cut: a.Cut, Files: a.Files}})\n", "	pl.publish(&decision.Set{Number: a.Set, Cut: a.Cut, Files: a.Files})\n"),
	ruletest.New("files.go", "the job ends after its files are complete", "	pl.publishing++\n", ""),
	ruletest.New("message.go", "recovery learns of finished processes", "	h.recovery.happened(m, (*recovery.Head).Finished)\n", ""),
	ruletest.New("arrive.go", "a host that has joined is a part of the job", "	h.act(Admit{*host})\n", ""),
	ruletest.New("arrive.go", "a host that joins beside a head that leaves does, too", "		h.leaveWithHead(host.Node)\n	}\n	h.recovery", "	}\n	h.recovery"),
	ruletest.New("restore.go", "a successor knows the hosts that have joined", "		h.config.enter(&h.state.Hosts[i])\n", "		_ = i\n"),
	ruletest.New("join.go", "recovery knows which slots are vacant", "Vacant: ms.vacancies(), ", ""),
	ruletest.New("death.go", "a vacant slot is no failure", "	if m.vacant() {\n		ds.tell(v)\n		return\n	}\n", ""),
	ruletest.New("restore.go", "a successor keeps vacant slots so", "		case m.vacant():\n			continue\n", ""),
	ruletest.New("members.go", "a rank that is lost before its files are known ends the job", "&& !ms.unopened() }", "}"),
	ruletest.New("relieve.go", "one process at a time relieves another", "return o.process == p && o != old && o.role != Spare && !o.settled", "return false"),
	ruletest.New("restore.go", "a successor starts placed processes that were not started", "			h.members.launch(m)\n", ""),
	ruletest.New("restore.go", "a successor places processes that were not placed", "			h.members.choose(h.members.enroll(p, firstIncarnation, From{h.config.Of[p], p, firstIncarnation}, First))\n", "			h.members.enroll(p, firstIncarnation, From{h.config.Of[p], p, firstIncarnation}, First)\n"),
	ruletest.New("restore.go", "a successor waits for processes that have not begun", "			h.phase = joining\n", ""),
	ruletest.New("restore.go", "a spare in a slot keeps the name that its agent knows", "		from.Incarnation = firstIncarnation\n", ""),
	ruletest.New("restore.go", "a process with its state is no joiner under a successor", "	if at.Incarnation == firstIncarnation || h.lived(p, at.Incarnation) {", "	if at.Incarnation == firstIncarnation {"),
	ruletest.New("restore.go", "a successor repeats Resume if the agent has not received it", "		h.restoreVoice(m, x)\n", ""),
	ruletest.New("restore.go", "a finished process stays finished under a successor", "		m.state, m.informed = finished, true\n", "		m.state, m.informed = starting, true\n"),
	ruletest.New("restore.go", "a successor sends verdicts to finished processes", "		case m.state == finished:\n			h.members.tellAll(m)\n", ""),
	ruletest.New("restore.go", "a successor releases the processes of a released job", "			h.release()\n", ""),
	ruletest.New("restore.go", "a successor ends a job whose end is decided", "			h.finish()\n", ""),
	ruletest.New("restore.go", "a successor knows the loss of a rank", "			h.members.conclude(last)\n", ""),
	ruletest.New("restore.go", "a successor ignores the answers to an earlier head's requests", "	h.plan.number = s.Term << 32 // the numbers of an earlier head's requests are lower\n", ""),
	ruletest.New("suspect.go", "no end of a restored link is killed", "	if !slices.ContainsFunc(j.links, func(o linkDoubt) bool { return o.sameLink(d) && o.since == d.since }) {\n		return\n	}\n", ""),
	ruletest.New("suspect.go", "the head waits for the decision about a host that may be lost", "	if j.doubtful(m) || j.doubtful(other) ||", "	if"),
	ruletest.New("suspect.go", "of two stopped replicas one stays", " && !j.stoppedNow(peer)", ""),
	ruletest.New("death.go", "a relieved process is killed", "	ds.kill(m)\n	m.settled = m.settled || !m.made\n", "	m.settled = m.settled || !m.made\n"),
	ruletest.New("death.go", "all processes receive the verdict on a relieved process", "	ds.tell(v)\n	if v.Withdrawn {\n", "	if v.Withdrawn {\n"),
	ruletest.New("recover.go", "recovery learns which joiners had died", "			void = append(void, m.endpoint())\n", ""),
	ruletest.New("relieve.go", "the process that was to relieve a dead one gets its slot", "		ms.places[m.process] = next\n", ""),
	ruletest.New("restore.go", "a process relieved under an earlier head is killed", "	h.act(Kill{m.from, syscall.SIGKILL})\n", ""),
	ruletest.New("restore.go", "a successor knows the process that is to relieve another one", "			h.restore(p, at, there)\n		}\n	}\n	for i, node", "			_ = at\n		}\n	}\n	for i, node"),
	ruletest.New("drain.go", "the last replica does not end because it is to leave", "	case ls.other(m, l.Node) != nil:\n", "	case true:\n"),
	ruletest.New("handover.go", "a head hands over once its host is empty", "	if slices.ContainsFunc(append(ls.here(), l.Node), stays) && !late {\n		return\n	}\n", "	_ = stays\n"),
	ruletest.New("handover.go", "a head hands over once a guest on its host is empty", "append(ls.here(), l.Node), stays)", "[]detect.ID{l.Node}, stays)"),
	ruletest.New("handover.go", "a guest on the host of the head leaves with it", "			nodes = append(nodes, id)\n", ""),
	ruletest.New("handover.go", "a head hands over after the cut or rollback under way", "	if busy && !late {\n		return\n	}\n", "	_ = busy\n"),
	ruletest.New("setdegrees.go", "recovery learns how many replicas a rank is to have", "return d.Degree(rank, n, now) })", "return d.Conclude(now) })"),
	ruletest.New("recover.go", "recovery learns who was to be let go and stays", "			void = append(void, e)\n", ""),
	ruletest.New("restore.go", "a process that was let go under an earlier head is killed", "		h.act(Kill{from, syscall.SIGKILL})\n", ""),
	ruletest.New("decision/degrees.go", "the last replica of a rank is not let go", "		if !s.Recovery.Departed(d, others) {", "		if !s.Recovery.Departed(d, append(others, d.Process)) {"),
	ruletest.New("spares.go", "a host on which a spare has ended gets no other one", " && !failed[n.ID]", ""),
	ruletest.New("spares.go", "no more spares wait than the job has begun with", "n := ms.unused(); n < len(", "n := ms.unused(); n <= len("),
	ruletest.New("join.go", "a late spare that cannot be started does not end the job", "	case ms.late(m):\n		ms.refuseSpare(m, e.Err)\n", ""),
	ruletest.New("restore.go", "a successor knows the spares that were not started with the job", "firstIncarnation}); h.members.byAgent[from] == nil {", "firstIncarnation}); h.members.byAgent[from] == nil && id.Rank < len(h.config.Degrees)+len(h.config.Spares) {"),
	ruletest.New("drain.go", "a host is freed once it has no process", " && !slices.ContainsFunc(ls.members.all, func(m *member) bool { return m.from.Node == l.Node && !m.settled }) {", " {"),
}

// unshown are rules that no walk proves necessary, with the reasons.
var unshown = []ruletest.Rule{
	// TestLinkIsJudgedByKeptBackups proves this rule necessary: only one walk in 50,000 reaches
	// that moment.
	ruletest.New("recover.go", "no process is killed in reliance on a backup that is not kept", "pl.recovery.decides == nil || pl.recovery.keeping || p", "pl.recovery.decides == nil || p"),
	// TestDisputeDuringARollback and TestDisputeAboutAMessageAfterAFailure prove these rules
	// necessary: in the walks no error has a known safe point of origin.
	ruletest.New("dispute.go", "a dispute during a rollback is decided if its error is older than the backup", "		return j.decideDuringRollback(rank)\n", "		return nil\n"),
	ruletest.New("dispute.go", "a dispute about an older error than the decided one is handled", " && !d.older(reported) {", " {"),
	// TestFailedProgramRollsBackOnce and TestDisputeAtTheEnd prove these rules necessary: no walk reaches
	// either.
	ruletest.New("dispute.go", "the failure of a program that fails again stands", "	j.letFail(d.by, &d.Dispute)\n", ""),
	ruletest.New("members.go", "no process is released that may have to roll back", " || ms.recovery.mayGoBack() {", " {"),
	// TestHostLostBeforeTheFilesAreKnown proves this rule necessary: no walk reaches a moment at
	// which only this conclusion ends a job.
	ruletest.New("files.go", "deaths from before the files were known are concluded", "			pl.recovery.together = false\n			return d.Conclude(now)\n", "			return nil\n"),
	// spare_given_back.txt proves this rule necessary: one in 300,000 jobs of
	// internal/testkit/simulation reaches that moment.
	ruletest.New("leave.go", "a spare that was not chosen is free for other slots", "	if ms.wanted[p] == incarnation {\n		ms.cancelRequest(p)\n	}\n", "	delete(ms.wanted, p)\n"),
	// let_go_before_its_start.txt proves this rule necessary: one in 800,000 jobs of
	// internal/testkit/simulation reaches that moment.
	ruletest.New("join.go", "a joiner dismissed before its slot was kept leaves the slot to another process", "			ms.settled(m) // the slot may need another process by now\n", "			m.settled = true\n"),
	// let_go_and_refused.txt proves this rule necessary: no job of internal/testkit/simulation
	// reaches that moment.
	ruletest.New("join.go", "a dismissed joiner that could not be started leaves the slot to another process", "		ms.withdraw(m, e.Err)\n		ms.settled(m)\n", "		ms.withdraw(m, e.Err)\n		m.settled = true\n"),
	// broken_link_again.txt proves this rule necessary: one in 50,000 jobs of
	// internal/testkit/simulation reaches that moment.
	ruletest.New("suspect.go", "a link that breaks again gets the whole waiting time again", " && o.since == d.since", ""),
	// freed_joiner.txt proves this rule necessary: one in 70,000 jobs of
	// internal/testkit/simulation reaches that moment.
	ruletest.New("restore.go", "a joiner that an earlier head released is not expected", "	case role == Joiner && x.Freed:", "	case false:"),
	// spare_waits_for_a_successor.txt proves this rule necessary: no walk does.
	ruletest.New("restore.go", "a waiting spare can get a slot under a successor", "		if m.state = starting; x.Joined {\n			m.state = waiting\n		}\n", "		m.state = starting\n"),
	// No test shows this rule. In the walks every request for a process ends before all processes
	// have finished.
	ruletest.New("members.go", "no process is released while a slot waits for a process", "	if len(ms.wanted) > 0 {\n		return false\n	}\n", ""),
	// No test shows this rule. The walks do not model that the end of a link to a process that
	// is dead, but not declared dead, counts as a broken link.
	ruletest.New("join.go", "the job begins only after every death before it is decided", "		case m.state == gone: // its verdict has not been sent yet\n			return\n", "		case m.state == gone:\n			continue\n"),
}

// table names the walks, which have to fail when a rule is removed.
var table = ruletest.Table{Root: ".", Rules: rules, Unshown: unshown, Test: "TestWalks", Soak: 60000, Sign: `seed \d+ |in no walk`}

// choices are the rules for the choice of the next process for a slot, and the tests that fail
// without them.
var choices = ruletest.Table{Root: ".", Rules: []ruletest.Rule{
	ruletest.New("replace.go", "a joiner is on another host than the other replicas of its rank", "		case together[n.ID]:\n			return 2\n", ""),
	ruletest.New("replace.go", "a joiner needs a free slot", "used[n.ID] < n.Slots && (best", "used[n.ID] >= 0 && (best"),
	ruletest.New("replace.go", "a joiner leaves a host whose links break", "!lost && !leaves && (old.verdict == nil || old.verdict.Cause != job.CauseLink) &&\n", "!lost && !leaves &&\n"),
	ruletest.New("replace.go", "a joiner starts on the host of the earlier process", "	if !lost && !leaves && (old.verdict == nil || old.verdict.Cause != job.CauseLink) &&\n", "	if false &&\n"),
	ruletest.New("replace.go", "a joiner that leaves a host starts on another one", "n.ID != but && ", ""),
	ruletest.New("replace.go", "no joiner starts on a lost host", "ms.stays(n.ID) && n.ID", "n.ID"),
	ruletest.New("degree.go", "the dead take no slots", "		if o.state < gone {\n			used", "		if true {\n			used"),
	ruletest.New("spares.go", "a spare on another host than the other replicas of the rank is preferred", "together[best.from.Node] && !together[m.from.Node]", "false"),
	ruletest.New("spares.go", "dead replicas of the rank do not count as replicas on a host", "		if m.state < gone && m.process.Rank == p.Rank {\n", "		if m.process.Rank == p.Rank {\n"),
	ruletest.New("spares.go", "a spare that is about to be killed gets no slot", " && m.ending == nil && !ms.state.Leaves(", " && !ms.state.Leaves("),
	ruletest.New("replace.go", "a joiner is in another rack than the other replicas of its rank", "		case racks[n.Rack]:\n			return 1\n", ""),
	ruletest.New("join.go", "a successor knows how many replicas ranks are to have", "Targets: ms.targets(), ", ""),
	ruletest.New("degree.go", "a replica on the host of another one is let go first", "falseFirst(pAlone, qAlone), ", "falseFirst(pAlone && qAlone, qAlone && pAlone), "),
	ruletest.New("degree.go", "a replica in the rack of another one is let go first", "falseFirst(pApart, qApart), ", "falseFirst(pApart && qApart, qApart && pApart), "),
	ruletest.New("degree.go", "a replica on a host that leaves is let go first", "falseFirst(!pLeaves, !qLeaves), ", "falseFirst(pLeaves && qLeaves, qLeaves && pLeaves), "),
	ruletest.New("spares.go", "a process that leaves needs room before a spare", "ms.config.Replace && slices.ContainsFunc(ms.state.Leaving, func(l decision.Leave) bool { return l.Done == 0 })", "ms.config.Replace && slices.ContainsFunc(ms.state.Leaving, func(l decision.Leave) bool { return l.Done < 0 })"),
	ruletest.New("spares.go", "a spare needs room after a slot", " || len(ms.wanted) > 0 {\n", " {\n"),
	ruletest.New("drain.go", "a process that leaves does not rely on one that is about to be let go", " && !ls.departs(o)", ""),
	ruletest.New("join.go", "recovery knows which processes are about to die", "Dying: ms.dying, ", ""),
	ruletest.New("degree.go", "a rank on fewer hosts gets another replica first", "cmp.Compare(aHosts, bHosts), ", "cmp.Compare(aHosts+bHosts, bHosts+aHosts), "),
	ruletest.New("suspect.go", "the end with more broken links is killed", "		if x > y {\n			return p\n		}\n		return q\n", "		if x < y {\n			return p\n		}\n		return q\n"),
}, Test: "Test(HostOfAJoiner|SpareForASlot|RackOfAJoiner|RoomFor.*|VictimOf.*|Which.*)", Sign: "--- FAIL: Test"}

// TestRulesStand looks for the text of every rule in the head. It must occur there exactly
// once.
func TestRulesStand(t *testing.T) {
	table.Stand(t)
	choices.Stand(t)
}

// TestRulesAreNeeded removes each rule from the head in turn, and runs the walks without it:
// they must fail. That takes long, so the test runs only for the rules whose names INTRA_RULES
// matches.
func TestRulesAreNeeded(t *testing.T) {
	table.Needed(t)
	choices.Needed(t)
}
