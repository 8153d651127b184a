package section

import (
	"testing"

	"github.com/intrahpc/intra/internal/ruletest"
)

// rules are those of sections without waiting, and of what package simulation hardly
// comes to.
var rules = []ruletest.Rule{
	ruletest.New("machine.go", "claims are believed for a while",
		"	first := m.held\n", "	first := m.held\n	if first == 0 {\n		return 0\n	}\n"),
	ruletest.New("round.go", "who depends on an open section completes it first",
		"		if !independent(m.later[n-1].section) {\n			return n\n		}\n", "		_ = independent\n"),
	ruletest.New("round.go", "what is behind the current section is completed with its own tasks",
		"	m.round = m.later[0]\n}", "	m.round = m.later[len(m.later)-1]\n}"),
	ruletest.New("round.go", "frames about an open section are taken in",
		"		if r.section == section {\n			m.round = r\n			return was, true\n		}\n", ""),
	ruletest.New("round.go", "what a frame is about is put back",
		"func (m *Machine) take(r *round) { m.round = r }", "func (m *Machine) take(*round) {}"),
	ruletest.New("machine.go", "who is past a section without waiting is sent what it lacks",
		"	return !m.gone(p) || m.noWait && !m.peers[p].dead && !m.peers[p].finished\n", "	return !m.gone(p)\n"),
	ruletest.New("machine.go", "who has returned has done the section that is completed",
		"q.finished && m.open && q.sections <= m.section {", "q.finished && m.open && q.sections <= m.number {"),
	ruletest.New("machine.go", "who goes on alone runs what peers have claimed",
		"	for t := range m.shape.Tasks {\n		m.refresh(t)\n	}\n", ""),
	ruletest.New("machine.go", "a section that was resumed does not count twice",
		"		m.settled()\n		return\n", "		m.settled()\n"),
}

// unshown are rules that no schedule shows to be needed: what a replica lacks of a
// section that it goes back to has been sent before its peer went on, or is known to
// be lost.
var unshown = []ruletest.Rule{
	ruletest.New("machine.go", "nobody is waited for who is past the section that is completed",
		"m.peers[p].ahead > m.section\n", "m.peers[p].ahead > m.number\n"),
	// Without it peers run the task themselves once its claim has ended, which takes longer.
	ruletest.New("machine.go", "who goes on alone sends what it has claimed",
		"	if m.shape.Policy != sched.Replicate || m.tasks[t].claimant {\n", "	if m.shape.Policy != sched.Replicate {\n"),
}

var table = ruletest.Table{Root: ".", Rules: rules, Unshown: unshown, Test: "(TestSchedules|TestSharingWithoutWaiting|TestAClaimEnds)", Soak: 20000, Sign: `INTRA_SEED=\d+|--- FAIL: `}

func TestRulesStand(t *testing.T) { table.Stand(t) }

// TestRulesAreNeeded takes every rule out of the machine in turn: the schedules must
// fail.
func TestRulesAreNeeded(t *testing.T) { table.Needed(t) }
