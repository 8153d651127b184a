package comm_test

import (
	"testing"

	"github.com/intrahpc/intra/internal/testkit/ruletest"
)

// rules are rules of messages that hardly ever matter in the trials of package simulation.
var rules = []ruletest.Rule{
	ruletest.New("transport/sdr/ahead.go", "newcomers may wait for acknowledgements of what was sent behind the cut",
		"		s.unacked = 1\n", ""),
	ruletest.New("comm/operation.go", "only the root of a reduction has waited for all",
		"			return sdr.SyncHere\n		}\n		return sdr.SyncElsewhere\n", "		}\n		return sdr.SyncHere\n"),
}

var table = ruletest.Table{Root: "..", Rules: rules, Test: "TestRecovery", Soak: 5000, Sign: `INTRA_SEED=\d+`}

// orders are the rules by which replicas agree on the order of messages.
var orders = ruletest.Table{Root: "..", Test: "TestAnyOrder", Soak: 3000, Sign: `INTRA_SEED=\d+`, Rules: []ruletest.Rule{
	ruletest.New("transport/sdr/agree.go", "a decision takes effect once all live replicas hold it",
		"held = held && d.number < a.held[d.maker][k]", "_ = k"),
	ruletest.New("transport/sdr/chosen.go", "a follower ignores decisions that are not settled",
		"if d == nil || !d.settled && !x.agreed.leads() {", "if d == nil {"),
	ruletest.New("transport/sdr/chosen.go", "a new leader makes the decisions its own that it holds",
		"			a.decide(d)\n		}\n		for _, ctx", "			_ = d\n		}\n		for _, ctx"),
	ruletest.New("transport/sdr/chosen.go", "all posted receives take what is decided before any message is matched",
		"				if x.obey(req) {\n					req.place.leave()", "				if false {\n					req.place.leave()"),
	ruletest.New("transport/sdr/agree.go", "decisions of a dead leader are settled when all live replicas hold them",
		"d.number < a.held[d.maker][k]", "d.number < a.held[d.maker][k] && d.maker == a.maker"),
	ruletest.New("transport/sdr/agree.go", "a decision of an earlier leader is refused once a later one is known",
		"		return nil // the sender is dead, and a later leader has decided since\n", ""),
	ruletest.New("transport/sdr/match.go", "a follower leaves an arriving message to the receive posted first",
		"			s.ctx.claimed = true\n			return nil\n", "			break\n"),
	ruletest.New("transport/sdr/agree.go", "the plain program carries out the decisions of the job",
		"	return !a.replays() && bits", "	return bits"),
	ruletest.New("internal/testkit/sdrtest/record.go", "what was decided before a cut counts",
		"key := recordKey{place, r.base[place] + number}", "key := recordKey{place, number}"),
	ruletest.New("transport/sdr/match.go", "a receive takes no claimed message",
		"	if (req.source != Any || req.probe) && x.claimed(m, req) {\n		return nil\n	}\n", ""),
}, Unshown: []ruletest.Rule{
	// A message is bound to a receive only when the decisions about earlier receives are
	// known.
	ruletest.New("transport/sdr/match.go", "a chosen receive takes the decided message only",
		"	for at != nil && !at.receive.accepts(number, tag) { // a decision gives the receive another message\n		at = at.after(key)\n	}\n", ""),
}}

// returns are the rules by which a program runs again from a settled point.
var returns = ruletest.Table{Root: "..", Test: "TestRunsAgain", Soak: 3000, Sign: `INTRA_SEED=\d+`, Rules: []ruletest.Rule{
	ruletest.New("transport/sdr/match.go", "the journal has messages for which the program has yet to wait",
		"	if x.journal.on {\n", "	if x.journal.on && req.awaited {\n"),
	ruletest.New("transport/sdr/end.go", "the journal has the messages that take the fast path",
		" || c.journal.on {", " {"),
	ruletest.New("transport/sdr/undo.go", "messages that are not whole return to their place",
		"				default:\n					x.unmatch(m)\n", ""),
	ruletest.New("transport/sdr/undo.go", "messages that were received are received again in the order of their numbers",
		"		slices.SortFunc(all, func(a, b *arrival) int { return cmp.Compare(a.number, b.number) })\n", "		_ = cmp.Compare[int]\n"),
	ruletest.New("transport/sdr/undo.go", "decisions that are not settled are carried out by the next run",
		"			x.undecide(d, req)\n", "			_ = req\n"),
	ruletest.New("transport/sdr/agree.go", "decisions that were carried out are carried out again",
		"			a.due[d.key] = &decision{key: d.key, run: d.run, value: d.value, settled: true}\n", ""),
	ruletest.New("transport/sdr/agree.go", "a leader that runs again chooses nothing before it knows its own answers",
		"	if a.leads() {\n		a.foresee()", "	if false {\n		a.foresee()"),
	ruletest.New("transport/sdr/agree.go", "decisions that arrive between two runs count in the next one",
		"	if a.journal.retired { // the next run of the program may carry it out again\n		return false\n	}\n", ""),
	ruletest.New("transport/sdr/again.go", "what was sent is not sent again",
		"	was, before := s.again[m.number]\n", "	was, before := contents{}, false\n"),
	ruletest.New("transport/sdr/again.go", "streams are numbered from the place",
		"				c.contexts.outStream(p.ctx, rank).next = n\n", "				_ = rank\n"),
	ruletest.New("transport/sdr/again.go", "decisions are numbered from the place",
		"		p.ctx.ordered = p.ordered\n", ""),
	ruletest.New("transport/sdr/again.go", "the next run joins the communicators made since the place",
		"ctx.joined, ctx.left, ctx.ordered, ctx.claimed = false,", "ctx.left, ctx.ordered, ctx.claimed ="),
	ruletest.New("transport/sdr/core.go", "a communicator is freed when no place from before is left",
		"		c.journal.freed.add(ctx)\n		return\n", ""),
	ruletest.New("transport/sdr/safepoint.go", "no place is left when a cut begins",
		"			e.core.endJournal()\n", ""),
}}

func TestRulesStand(t *testing.T) {
	table.Stand(t)
	returns.Stand(t)
	orders.Stand(t)
}

// TestRulesAreNeeded removes each rule in turn: the trials must fail.
func TestRulesAreNeeded(t *testing.T) {
	table.Needed(t)
	returns.Needed(t)
	orders.Needed(t)
}
