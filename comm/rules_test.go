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

func TestRulesStand(t *testing.T) { table.Stand(t) }

// TestRulesAreNeeded takes every rule out in turn: the trials must fail.
func TestRulesAreNeeded(t *testing.T) { table.Needed(t) }
