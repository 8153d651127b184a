package simulation

import "github.com/intrahpc/intra/internal/testkit/ruletest"

// moves are rules for hosts and processes that leave and join. TestSimulationOfMoves has to fail
// without any of them. The tables of internal/head and internal/recovery hold the others.
var moves = ruletest.Table{Root: "../../..", Test: "TestSimulationOfMoves", Soak: 6000, Sign: `INTRA_SEED=\d+|none of `, Rules: []ruletest.Rule{
	ruletest.New(recoveryDir+"links.go", "a link to the process in a slot may be made after that to its relief",
		"		ls.to[p], ls.next[p] = added, old\n", "		return false\n"),
	ruletest.New(recoveryDir+"links.go", "the relief of a dead process is linked in its slot",
		"			ls.to[p] = next\n			delete(ls.next, p)\n", "			delete(ls.next, p)\n"),
	ruletest.New(recoveryDir+"links.go", "the death of a relief is not that of the process in the slot",
		"		delete(ls.next, p)\n		return next, true\n", "		delete(ls.next, p)\n		return next, false\n"),
	ruletest.New(recoveryDir+"relieve.go", "a joiner that relieves a process takes its slot when that dies",
		"	*s = *r\n	s.relieves, s.attempts = false, attempts\n", "	_ = attempts\n"),
	ruletest.New(recoveryDir+"relieve.go", "a successor knows which joiner relieves which process",
		"			h.reliefs = append(h.reliefs, r)\n		}\n	}\n}", "			_ = r\n		}\n	}\n}"),
	ruletest.New(recoveryDir+"relieve.go", "a relieved process holds no copies",
		"	h.backups.backupDeath(s.process, s.incarnation, true)\n	h.sets.writerDeath(s.process, s.incarnation)\n	h.reliefs =", "	h.sets.writerDeath(s.process, s.incarnation)\n	h.reliefs ="),
	ruletest.New(headDir+"restore.go", "a successor sends the verdict on a relieved process before its relief is admitted",
		"	if h.state.Recovery.Admitting {\n		h.tellRelieved()\n	}\n", ""),
	ruletest.New(headDir+"restore.go", "a process relieved under an earlier head is killed",
		"	h.act(Kill{m.from, syscall.SIGKILL})\n", ""),
	ruletest.New(headDir+"restore.go", "a process that was let go under an earlier head is killed",
		"		h.act(Kill{from, syscall.SIGKILL})\n", ""),
	ruletest.New(headDir+"restore.go", "a successor knows the hosts that have joined",
		"		h.config.enter(&h.state.Hosts[i])\n", "		_ = i\n"),
	ruletest.New(headDir+"death.go", "a relieved process is killed",
		"	ds.kill(m)\n	m.settled = m.settled || !m.made\n", "	m.settled = m.settled || !m.made\n"),
	ruletest.New(headDir+"death.go", "all processes receive the verdict on a relieved process",
		"	ds.tell(v)\n	if v.Withdrawn {\n", "	if v.Withdrawn {\n"),
}, Unshown: []ruletest.Rule{
	// TestSchedules of internal/recovery proves these rules necessary.
	ruletest.New(recoveryDir+"relieve.go", "a process continues if the one that was to relieve it has died",
		"		if slices.Contains(void, job.Endpoint{Process: j.Process, Incarnation: j.Incarnation}) {\n			continue\n		}\n", ""),
	ruletest.New(recoveryDir+"relieve.go", "joiners that no longer relieve a process are dismissed",
		"		h.dismissReliefs() // no more cuts are possible\n", ""),
	// A process that is relieved sends its state itself, and has no other link in its own slot.
	ruletest.New(recoveryDir+"links.go", "a relief gets the state, not the process in its slot",
		"	if next := ls.next[p]; next != nil {\n		return next\n	}\n	return ls.to[p]\n", "	return ls.to[p]\n"),
}}
