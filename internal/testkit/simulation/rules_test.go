package simulation

import (
	"testing"

	"github.com/intrahpc/intra/internal/testkit/ruletest"
)

// table holds the rules, and names the jobs that must fail without a rule.
var table = ruletest.Table{Root: "../../..", Rules: rules, Unshown: unshown, Test: "TestSimulation", Soak: 10000, Sign: `INTRA_SEED=\d+`}

// TestRulesStand looks for the text of every rule in the machines. It must
// occur there exactly once.
func TestRulesStand(t *testing.T) {
	table.Stand(t)
	moves.Stand(t)
}

// TestRulesAreNeeded removes each rule from its machine in turn, and runs the
// simulation without it: the simulation must fail within 10,000 jobs. That
// takes long, so the test runs only for the rules whose names INTRA_RULES
// matches.
func TestRulesAreNeeded(t *testing.T) {
	table.Needed(t)
	moves.Needed(t)
}
