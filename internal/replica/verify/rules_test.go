package verify

import (
	"testing"

	"github.com/intrahpc/intra/internal/testkit/ruletest"
)

// rules are rules that the schedules prove necessary.
var rules = []ruletest.Rule{
	ruletest.New("ballot.go", "the result of most replicas is right", "	if most > 1 {\n		return right, ok\n	}\n", ""),
	ruletest.New("ballot.go", "of two results with as many witnesses neither is right", "				ok = false\n			}", "			}"),
	ruletest.New("ballot.go", "a consistent replica is not blamed by another consistent one", "		case sure >= 0 || len(b.Runs) < 2:\n			return 0, false\n", ""),
	ruletest.New("ballot.go", "a replica that contradicts itself is no witness", "		case b.contradicts():\n", "		case false:\n"),
	ruletest.New("judge.go", "messages carry the number of deaths", "	return s != nil && s.firstAt == m.deaths+1", "	return s != nil && s.firstAt > 0"),
	ruletest.New("judge.go", "a replica waits for the repeated runs of all live replicas", "m.peers[p].said[m.section].again == nil {", "m.peers[p].said[m.section] == nil {"),
	ruletest.New("machine.go", "reports of dead replicas about other tasks, beyond a cut, do not count", "		case m.peers[p].dead && s.signature", "		case false && s.signature"),
	ruletest.New("machine.go", "a death restarts the comparison", "	case m.open && m.left == 0:\n		m.sayFirst()\n", ""),
	ruletest.New("machine.go", "a replica that holds a result sends it after a death", "	case m.result != nil:\n		m.sayResult()\n	case", "	case"),
	ruletest.New("machine.go", "also the result of the section before", "	m.sayLast()\n	switch {", "	switch {"),
	ruletest.New("machine.go", "a replica that needed no result sends it to one that holds it", "		case s.result != nil && !m.peers[p].dead:\n			m.sayResult()\n", ""),
	ruletest.New("machine.go", "also when it has left the section", "	case m.section:\n		m.sayResult()\n", ""),
	ruletest.New("machine.go", "and when it is in the next one", "	case m.last.section:\n		m.sayLast()\n", ""),
	ruletest.New("machine.go", "a replica takes a result that a peer holds", "		case m.result == nil && s.result != nil:\n			m.hold(s.result)\n", ""),
	ruletest.New("machine.go", "no replica continues before all hold the result", "(s == nil || s.result == nil) {\n			return nil, nil", "s == nil {\n			return nil, nil"),
	ruletest.New("judge.go", "a replica waits for all live replicas", "		if m.lives(p) && !m.hasResults(p) {\n			return\n", "		if m.lives(p) && m.peers[p].said[m.section] == nil {\n			return\n"),
	ruletest.New("judge.go", "a replica alone runs its tasks again", "		m.rerun(i, 2)\n		if m.mine[i].running {\n			continue\n		}\n", ""),
	ruletest.New("judge.go", "and a third time", "			if m.rerun(i, 3); m.mine[i].running {\n				continue\n			}\n", ""),
	ruletest.New("judge.go", "reports of dead replicas count", "			if p != m.me {\n", "			if false {\n"),
	ruletest.New("judge.go", "a blamed replica does not count against one that was not blamed", "return m.peers[b.Replica].blamed }))", "return false }))"),
	ruletest.New("machine.go", "messages about a section that was left are too late", "	if w.Section < m.section || w.Section == m.section && !m.open && m.result != nil {\n		if w.Result != nil {\n			m.answer(w.Section)\n		}\n		return m.acts // this replica has left that section\n	}\n", ""),
	ruletest.New("state.go", "a replica waits for the states of all live replicas", "	if waits {", "	if waits && false {"),
	ruletest.New("state.go", "no replica continues beside a wrong state", "	case slices.ContainsFunc(c.Faulty, s.lives):", "	case false && slices.ContainsFunc(c.Faulty, s.lives):"),
	ruletest.New("state.go", "of two states with as many witnesses neither is right", "			ok = false\n", ""),
	ruletest.New("state.go", "states of dead replicas count", "		case said:\n", "		case said && (p == s.me || s.lives(p)):\n"),
	ruletest.New("state.go", "a replica may be ahead", "	if point >= s.point {", "	if point == s.point {"),
	ruletest.New("state.go", "a joiner has sent nothing", "statePeer{said: make(map[uint64]uint64)} }", "statePeer{said: s.peers[p].said} }"),
	ruletest.New("state.go", "a replica does not wait for dead ones", "return p != s.me && !s.peers[p].dead }", "return p != s.me }"),
}

// watches are rules of the search for divergence.
var watches = ruletest.Table{Root: ".", Test: "TestWatch|TestSectionsThatAreAlikeAgain|TestJoinersAfterTheEnd|TestJoinerHasSentNothing", Soak: 20000, Sign: `INTRA_SEED=\d+|--- FAIL: `, Rules: []ruletest.Rule{
	ruletest.New("watch.go", "a replica does not wait for one whose program has returned", "return w.lives(p) && !w.peers[p].finished }", "return w.lives(p) }"),
	ruletest.New("watch.go", "a replica does not wait for a dead one", "return p != w.me && !w.peers[p].dead }", "return p != w.me }"),
	ruletest.New("watch.go", "all stop at the latest place", "	if !w.target.Before(to) {", "	if w.target.Number > 0 {"),
	ruletest.New("watch.go", "a later place is sent on", "			w.send(p, &WatchWord{Kind: WatchStop, Place: w.target, Found: w.found})\n		}\n	}\n}", "		}\n	}\n}"),
	ruletest.New("watch.go", "a table of an earlier place does not count", "x.target, x.table = word.Place, nil; w.found", "x.target = word.Place; w.found"),
	ruletest.New("watch.go", "all replicas that can come name the same place", "		if w.comes(p) && w.peers[p].target != w.target {", "		if w.comes(p) && false {"),
	ruletest.New("watch.go", "the next lead gets all tables", "w.sentTo != lead+1 {", "w.sentTo == 0 {"),
	ruletest.New("watch.go", "the lead asks another replica if the one that it asked has died", "w.asked == nil || w.asked.Peer != first.Peer:", "w.asked == nil:"),
	ruletest.New("watch.go", "a joiner has sent nothing", "	w.peers[p] = watched{hashes: newHashes()}\n	switch {", "	w.peers[p].dead = false\n	switch {"),
	ruletest.New("watch.go", "the end of the comparisons is sent on", "			return w.End() // its sender may have died before it could inform all\n", "			w.over = true\n"),
	ruletest.New("watch.go", "a joiner learns of the end of the comparisons", "	case w.over:\n		w.send(p, &WatchWord{Kind: WatchOver})\n", "	case w.over:\n"),
	ruletest.New("watch.go", "a peer may be ahead with its hash", "ok := w.peers[p].hashes.at[at]; ok && p != w.me {", "ok := w.peers[p].hashes.at[at]; ok && false {"),
	ruletest.New("watch.go", "or behind", "ok := w.own.at[word.Place]; ok {", "ok := w.own.at[word.Place]; ok && false {"),
	ruletest.New("watch.go", "safe points come after sections", "	kind = max(w.found.Place.Kind, w.target.Kind)", "	kind = w.found.Place.Kind"),
	ruletest.New("watch.go", "a table of a place that has changed meanwhile does not count", "	if at == w.target {\n		w.stopped", "	if true {\n		w.stopped"),
	ruletest.New("watch.go", "if all states are equal the next section is tried, and then the known difference is reported", "w.tries < mostTries && w.Others():", "w.Others():"),
	ruletest.New("watch.go", "a joiner stops where all replicas stop", "	case w.target.Number > 0:\n		w.send(p, ", "	case false:\n		w.send(p, "),
}}

// paces are rules of the choice of places, and of the hashes that are kept for them.
var paces = ruletest.Table{Root: ".", Test: "TestPace|TestHashesAreKept", Soak: 300, Sign: `INTRA_SEED=\d+|--- FAIL: `, Rules: []ruletest.Rule{
	ruletest.New("places.go", "hashes are kept by level", "level := Place{p.Kind, uint64(bits.TrailingZeros64(p.Number))}", "level := Place{p.Kind, uint64(bits.LeadingZeros64(0))}"),
	ruletest.New("pace.go", "a replica that lowers its power skips nothing", "p.level = min(p.level, p.choose(n-1))", "p.level = p.choose(n-1)"),
	ruletest.New("pace.go", "if places become rarer, more of them are hashed", "		p.level = min(p.level, p.choose(n-1))\n", ""),
	ruletest.New("pace.go", "hashes stay within their share of the time", "level == highest || p.spent+p.cost <= most+then/paceShare {", "level == highest || most+then >= 0 {"),
	ruletest.New("pace.go", "a short job takes few hashes", "most := paceFirst", "most := paceFree"),
	ruletest.New("pace.go", "a short job is compared up to its end", "most = paceFree", "most = paceFirst"),
}}

// unshown are rules that no schedule proves necessary, with the reasons.
var unshown = []ruletest.Rule{}

// table names the schedules that must fail without a rule.
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
