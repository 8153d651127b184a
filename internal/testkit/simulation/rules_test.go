package simulation

import (
	"testing"

	"github.com/intrahpc/intra/internal/testkit/ruletest"
)

// table says which jobs are to notice the rules.
var table = ruletest.Table{Root: "../../..", Rules: rules, Unshown: unshown, Test: "TestSimulation", Soak: 10000, Sign: `INTRA_SEED=\d+`}

// TestRulesStand looks for the text of every rule in the machines, where it has
// to be once: the table says what is there.
func TestRulesStand(t *testing.T) { table.Stand(t) }

// TestRulesAreNeeded takes every rule out of its machine in turn, and runs the
// simulation with what is left: it must fail within 10,000 jobs. It takes long,
// and runs for the rules whose names INTRA_RULES matches.
func TestRulesAreNeeded(t *testing.T) { table.Needed(t) }
