package section

import (
	"testing"

	"github.com/intrahpc/intra/internal/testkit/ruletest"
)

// rules are rules that the schedules of package simulation hardly ever need.
var rules = []ruletest.Rule{
	ruletest.New("machine.go", "claims are believed for a while",
		"	first := m.held\n", "	first := m.held\n	if first == 0 {\n		return 0\n	}\n"),
	ruletest.New("machine.go", "a replica that continues alone runs tasks that peers have claimed",
		"	for t := range m.shape.Tasks {\n		m.refresh(t)\n	}\n", ""),
}

// unshown are rules that no schedule proves necessary.
var unshown = []ruletest.Rule{
	// Without this rule peers run the task themselves once its claim has ended, which takes
	// longer.
	ruletest.New("machine.go", "a replica that continues alone sends the results that it has claimed",
		"	if m.shape.Policy != sched.Replicate || m.tasks[t].claimant {\n", "	if m.shape.Policy != sched.Replicate {\n"),
}

var table = ruletest.Table{Root: ".", Rules: rules, Unshown: unshown, Test: "(TestSchedules|TestAClaimEnds)", Soak: 20000, Sign: `INTRA_SEED=\d+|--- FAIL: `}

func TestRulesStand(t *testing.T) { table.Stand(t) }

// TestRulesAreNeeded removes each rule from the machine in turn: the schedules must fail.
func TestRulesAreNeeded(t *testing.T) { table.Needed(t) }
