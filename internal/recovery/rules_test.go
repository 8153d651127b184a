package recovery

import (
	"testing"

	"github.com/intrahpc/intra/internal/ruletest"
)

// rules are those that package simulation hardly comes to.
var rules = []ruletest.Rule{
	ruletest.New("head.go", "what is from before a rollback does not count",
		"	if r.Generation != h.generation {", "	if false {"),
}

var table = ruletest.Table{Root: ".", Rules: rules, Test: "TestSchedules", Soak: 6000, Sign: `INTRA_SEED=\d+`}

func TestRulesStand(t *testing.T) { table.Stand(t) }

// TestRulesOfTheHeadAreNeeded takes every rule out in turn: the schedules must fail.
func TestRulesOfTheHeadAreNeeded(t *testing.T) { table.Needed(t) }
