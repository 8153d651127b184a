package verify

import (
	"testing"

	"github.com/intrahpc/intra/internal/testkit/ruletest"
)

// rules are those that the schedules show to be needed.
var rules = []ruletest.Rule{
	ruletest.New("ballot.go", "what most have come to is right", "	if most > 1 {\n		return right, ok\n	}\n", ""),
	ruletest.New("ballot.go", "of two results with as many witnesses neither is right", "				ok = false\n			}", "			}"),
	ruletest.New("ballot.go", "who does not contradict itself is not convicted by one that does not either", "		case sure >= 0 || len(b.Runs) < 2:\n			return 0, false\n", ""),
	ruletest.New("ballot.go", "who contradicts itself is no witness", "		case b.contradicts():\n", "		case false:\n"),
	ruletest.New("judge.go", "words are of a number of deaths", "	return s != nil && s.firstAt == m.deaths+1", "	return s != nil && s.firstAt > 0"),
	ruletest.New("judge.go", "what has run again at all of the living is waited for", "m.peers[p].said[m.section].again == nil {", "m.peers[p].said[m.section] == nil {"),
	ruletest.New("machine.go", "what the dead have said of other tasks, beyond a cut, does not count", "		case m.peers[p].dead && s.signature", "		case false && s.signature"),
	ruletest.New("machine.go", "a death begins it anew", "	case m.open && m.left == 0:\n		m.sayFirst()\n", ""),
	ruletest.New("machine.go", "who holds a result says it after a death", "	case m.result != nil:\n		m.sayResult()\n	case", "	case"),
	ruletest.New("machine.go", "also that of the section before", "	m.sayLast()\n	switch {", "	switch {"),
	ruletest.New("machine.go", "who needed no result says it to one that holds it", "		case s.result != nil && !m.peers[p].dead:\n			m.sayResult()\n", ""),
	ruletest.New("machine.go", "also when it has left the section", "	case m.section:\n		m.sayResult()\n", ""),
	ruletest.New("machine.go", "and when it is in the next one", "	case m.last.section:\n		m.sayLast()\n", ""),
	ruletest.New("machine.go", "what somebody holds is taken", "		case m.result == nil && s.result != nil:\n			m.hold(s.result)\n", ""),
	ruletest.New("machine.go", "nobody goes on before all hold the result", "(s == nil || s.result == nil) {\n			return nil, nil", "s == nil {\n			return nil, nil"),
	ruletest.New("judge.go", "all live replicas are waited for", "		if m.lives(p) && !m.heard(p) {\n			return\n", "		if m.lives(p) && m.peers[p].said[m.section] == nil {\n			return\n"),
	ruletest.New("judge.go", "a replica alone runs its tasks again", "		m.rerun(i, 2)\n		if m.mine[i].running {\n			continue\n		}\n", ""),
	ruletest.New("judge.go", "and a third time", "			if m.rerun(i, 3); m.mine[i].running {\n				continue\n			}\n", ""),
	ruletest.New("judge.go", "what the dead have said counts", "			if p != m.me {\n", "			if false {\n"),
	ruletest.New("judge.go", "one that was convicted is not believed against one that was not", "return m.peers[b.Replica].convicted }))", "return false }))"),
	ruletest.New("machine.go", "what was said of a section that was left comes too late", "	if w.Section < m.section || w.Section == m.section && !m.open && m.result != nil {\n		if w.Result != nil {\n			m.answer(w.Section)\n		}\n		return m.acts // that was left here\n	}\n", ""),
	ruletest.New("state.go", "the states of all that live are waited for", "	if waits {", "	if waits && false {"),
	ruletest.New("state.go", "nobody goes on beside a wrong state", "	case slices.ContainsFunc(c.Guilty, s.lives):", "	case false && slices.ContainsFunc(c.Guilty, s.lives):"),
	ruletest.New("state.go", "of two states with as many witnesses neither is right", "			ok = false\n", ""),
	ruletest.New("state.go", "what the dead have said of their state counts", "		case said:\n", "		case said && (p == s.me || s.lives(p)):\n"),
	ruletest.New("state.go", "a replica may be ahead", "	if point >= s.point {", "	if point == s.point {"),
	ruletest.New("state.go", "who takes the place of another has said nothing", "statePeer{said: make(map[uint64]uint64)} }", "statePeer{said: s.peers[p].said} }"),
	ruletest.New("state.go", "the dead are not waited for", "return p != s.me && !s.peers[p].dead }", "return p != s.me }"),
}

// unshown are rules that no schedule shows to be needed, and why.
var unshown = []ruletest.Rule{}

// table says which schedules are to notice the rules.
var table = ruletest.Table{Root: ".", Rules: rules, Unshown: unshown, Test: "TestStates|TestCompare|TestSchedules|TestAgreement|TestJudge|TestResultIsHeld|TestHeldResultIsAnswered|TestLateWord", Soak: 20000, Sign: `INTRA_SEED=\d+|--- FAIL: `}

// TestRulesStand looks for the text of every rule in the machine, where it has to be
// once: the table says what is there.
func TestRulesStand(t *testing.T) { table.Stand(t) }

// TestRulesAreNeeded takes every rule out of the machine in turn: the schedules must
// fail. It takes long, and runs for the rules whose names INTRA_RULES matches.
func TestRulesAreNeeded(t *testing.T) { table.Needed(t) }
