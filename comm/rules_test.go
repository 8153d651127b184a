package comm_test

import (
	"testing"

	"github.com/intrahpc/intra/internal/ruletest"
)

// rules are those of messages that package simulation hardly comes to.
var rules = []ruletest.Rule{
	ruletest.New("transport/sdr/cut.go", "newcomers may wait for acknowledgements of what was sent behind the cut",
		"		s.unacked = 1\n", ""),
	ruletest.New("comm/operation.go", "only the root of a reduction has waited for all",
		"			return sdr.SyncHere\n		}\n		return sdr.SyncElsewhere\n", "		}\n		return sdr.SyncHere\n"),
}

var table = ruletest.Table{Root: "..", Rules: rules, Test: "TestRecovery", Soak: 5000, Sign: `INTRA_SEED=\d+`}

// orders are the rules by which replicas decide together what depends on the order of messages.
var orders = ruletest.Table{Root: "..", Test: "TestAnyOrder", Soak: 3000, Sign: `INTRA_SEED=\d+`, Rules: []ruletest.Rule{
	ruletest.New("transport/sdr/agree.go", "nothing comes of a decision before all that live hold it",
		"held = held && d.number < c.agreed.held[d.maker][k]", "_ = k"),
	ruletest.New("transport/sdr/agree.go", "a follower leaves what is not settled",
		"if d == nil || !d.settled && !c.leads() {", "if d == nil {"),
	ruletest.New("transport/sdr/agree.go", "a new leader makes the decisions its own that it holds",
		"			c.decide(d)\n		}\n		for _, ctx", "		}\n		for _, ctx"),
	ruletest.New("transport/sdr/agree.go", "it has all that are decided before it decides more",
		"				if c.obey(req) {\n					req.place.leave()", "				if false {\n					req.place.leave()"),
	ruletest.New("transport/sdr/agree.go", "what dead leaders have decided is settled by those who hold it",
		"d.number < c.agreed.held[d.maker][k]", "d.number < c.agreed.held[d.maker][k] && d.maker == c.agreed.maker"),
	ruletest.New("transport/sdr/agree.go", "who knows of a later leader takes nothing from an earlier one",
		"		return nil // it is dead: who knows that has decided since\n", ""),
	ruletest.New("transport/sdr/agree.go", "decisions are of the course after one cut",
		"	return h.Args[5] == c.passed, nil\n", "	return true, nil\n"),
	ruletest.New("transport/sdr/match.go", "a follower gives no message to a later receive",
		"			s.ctx.claimed = true\n			return nil\n", "			break\n"),
	ruletest.New("transport/sdr/match.go", "nor does a later receive take one",
		"	if (req.source != Any || req.probe) && c.claimed(m, req) {\n		return nil\n	}\n", ""),
	ruletest.New("transport/sdr/match.go", "what was decided waits for its very message",
		"	for at != nil && !at.receive.accepts(number, tag) { // it is to get another one\n		at = at.after(key)\n	}\n", ""),
}}

func TestRulesStand(t *testing.T) {
	table.Stand(t)
	orders.Stand(t)
}

// TestRulesAreNeeded takes every rule out in turn: the trials must fail.
func TestRulesAreNeeded(t *testing.T) {
	table.Needed(t)
	orders.Needed(t)
}
