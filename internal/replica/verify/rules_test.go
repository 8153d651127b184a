package verify

import (
	"testing"

	"github.com/intrahpc/intra/internal/testkit/ruletest"
)

// rules are rules that the schedules prove necessary.
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

// watches are rules of the search for divergence.
var watches = ruletest.Table{Root: ".", Test: "TestWatch|TestSectionsThatAreAlikeAgain|TestJoinersAfterTheEnd|TestJoinerHasSentNothing", Soak: 20000, Sign: `INTRA_SEED=\d+|--- FAIL: `, Rules: []ruletest.Rule{
	ruletest.New("watch.go", "a replica that has returned is not waited for", "return w.lives(p) && !w.peers[p].finished }", "return w.lives(p) }"),
	ruletest.New("watch.go", "a dead replica is not waited for", "return p != w.me && !w.peers[p].dead }", "return p != w.me }"),
	ruletest.New("watch.go", "all stop at the latest place", "	if !w.target.Before(to) {", "	if w.target.Number > 0 {"),
	ruletest.New("watch.go", "a later place is sent on", "			w.send(p, &WatchWord{Kind: WatchStop, Place: w.target, Found: w.found})\n		}\n	}\n}", "		}\n	}\n}"),
	ruletest.New("watch.go", "a table of an earlier place does not count", "x.target, x.table = word.Place, nil; w.found", "x.target = word.Place; w.found"),
	ruletest.New("watch.go", "all that come name the same place", "		if w.comes(p) && w.peers[p].target != w.target {", "		if w.comes(p) && false {"),
	ruletest.New("watch.go", "the next lead gets all tables", "w.told != lead+1 {", "w.told == 0 {"),
	ruletest.New("watch.go", "the lead asks another replica if the one that it asked has died", "w.asked == nil || w.asked.Peer != first.Peer:", "w.asked == nil:"),
	ruletest.New("watch.go", "a joiner has sent nothing", "	w.peers[p] = watched{hashes: newHashes()}\n	switch {", "	w.peers[p].dead = false\n	switch {"),
	ruletest.New("watch.go", "the end of the comparisons is sent on", "			return w.End() // its sender may have died before it could inform all\n", "			w.over = true\n"),
	ruletest.New("watch.go", "a joiner learns of the end of the comparisons", "	case w.over:\n		w.send(p, &WatchWord{Kind: WatchOver})\n", "	case w.over:\n"),
	ruletest.New("watch.go", "a peer may be ahead with its hash", "ok := w.peers[p].hashes.at[at]; ok && p != w.me {", "ok := w.peers[p].hashes.at[at]; ok && false {"),
	ruletest.New("watch.go", "or behind", "ok := w.own.at[word.Place]; ok {", "ok := w.own.at[word.Place]; ok && false {"),
	ruletest.New("watch.go", "safe points come after sections", "	kind = max(w.found.Place.Kind, w.target.Kind)", "	kind = w.found.Place.Kind"),
	ruletest.New("watch.go", "a table of a place that has changed meanwhile does not count", "	if at == w.target {\n		w.stopped", "	if true {\n		w.stopped"),
	ruletest.New("watch.go", "where all is alike the next section is tried, and then what is known is told", "w.tries < mostTries && w.Others():", "w.Others():"),
	ruletest.New("watch.go", "a joiner stops where all do", "	case w.target.Number > 0:\n		w.send(p, ", "	case false:\n		w.send(p, "),
}}

// paces are rules of the choice of places, and of the hashes that are kept for them.
var paces = ruletest.Table{Root: ".", Test: "TestPace|TestHashesAreKept", Soak: 300, Sign: `INTRA_SEED=\d+|--- FAIL: `, Rules: []ruletest.Rule{
	ruletest.New("places.go", "hashes are kept by level", "level := Place{p.Kind, uint64(bits.TrailingZeros64(p.Number))}", "level := Place{p.Kind, uint64(bits.LeadingZeros64(0))}"),
	ruletest.New("pace.go", "a replica that lowers its power skips nothing", "p.level = min(p.level, p.choose(n-1))", "p.level = p.choose(n-1)"),
	ruletest.New("pace.go", "places that come less often are hashed more often", "		p.level = min(p.level, p.choose(n-1))\n", ""),
	ruletest.New("pace.go", "hashes keep to their share of the time", "level == highest || p.spent+p.cost <= paceFree+then/paceShare {", "level == highest || then >= 0 {"),
}}

// unshown are rules that no schedule proves necessary, with the reasons.
var unshown = []ruletest.Rule{}

// table names the schedules that have to fail without a rule.
var table = ruletest.Table{Root: ".", Rules: rules, Unshown: unshown, Test: "TestStates|TestCompare|TestSchedules|TestAgreement|TestJudge|TestResultIsHeld|TestHeldResultIsAnswered|TestLateWord", Soak: 20000, Sign: `INTRA_SEED=\d+|--- FAIL: `}

// TestRulesStand looks for the text of every rule in the machine. It must occur there
// exactly once.
func TestRulesStand(t *testing.T) {
	table.Stand(t)
	watches.Stand(t)
	paces.Stand(t)
}

// TestRulesAreNeeded removes each rule from the machine in turn: the schedules must fail.
// That takes long, so the test runs only for the rules whose names INTRA_RULES matches.
func TestRulesAreNeeded(t *testing.T) {
	table.Needed(t)
	watches.Needed(t)
	paces.Needed(t)
}
