package job

import (
	"testing"

	"github.com/intrahpc/intra/internal/testkit/ruletest"
)

// rules are the rules of placement of processes and spares.
var rules = []ruletest.Rule{
	ruletest.New("place.go", "replicas of a rank are in different racks where that is possible",
		"	return slices.ContainsFunc(chosen, func(h int) bool { return pl.hosts[h].Rack == rack })", "	return false"),
	ruletest.New("place.go", "hosts whose racks are not known are in different ones",
		"pl.hosts[h].Rack != \"\" && pl.inRack", "pl.inRack"),
	ruletest.New("place.go", "replicas of a rank are on different hosts",
		"slices.Contains(chosen, h) || ownRack", "ownRack"),
	ruletest.New("place.go", "no replica takes a slot that others need to be on different hosts",
		"			ok := pl.feasible(append(chosen, h), more)\n", "			ok := true\n"),
	ruletest.New("place.go", "the other replicas of the rank would take the roomiest hosts",
		"(best < 0 || r > room[best])", "(best < 0 || r < room[best])"),
	ruletest.New("place.go", "ranks that are left need their slots too",
		"		if need > give {\n", "		if false {\n"),
	ruletest.New("place.go", "a slot is used once",
		"		pl.room[h]--\n		pl.near[k] = h\n", "		pl.near[k] = h\n"),
	ruletest.New("place.go", "replicas k lie behind the replicas k-1 of all ranks",
		"		pl.near = append(pl.near, host)\n", "		pl.near = append(pl.near, 0)\n"),
	ruletest.New("place.go", "hosts of a rack follow each other",
		"	slices.SortStableFunc(hosts, func(a, b Host) int { return cmp.Compare(first[a.Rack], first[b.Rack]) })\n", ""),
	ruletest.New("place.go", "more processes than slots are spread in proportion",
		"			pl.room[i] = (h.Slots*total + slots - 1) / slots\n", "			pl.room[i] = total + 0*h.Slots\n"),
	ruletest.New("place.go", "more processes than slots are refused",
		"		if !oversubscribe {\n", "		if false {\n"),
	ruletest.New("place.go", "replicas that share a host are reported",
		"			p.Together = append(p.Together, rank)\n", "			_ = rank\n"),
	ruletest.New("place.go", "replicas that share a rack are reported",
		"			p.SameRack = append(p.SameRack, rank)\n", "			_ = rank\n"),
	ruletest.New("spares.go", "spares go to the emptiest host",
		"(best < 0 || free[h.Name] > free[hosts[best].Name])", "best < 0"),
	ruletest.New("spares.go", "a spare occupies a slot",
		"		free[hosts[best].Name]--\n", ""),
	ruletest.New("spares.go", "so does a process",
		"		free[p.Hosts[i].Name]--\n", "		_ = i\n"),
	ruletest.New("spares.go", "no spare is on a host without a free slot",
		"(free[h.Name] > 0 || oversubscribe) && ", ""),
}

// unshown are rules that change no placement in the tests. The first matters only after a host was
// skipped: hosts are filled in order, so otherwise the search leads to the same host. The second
// decides which host some replicas have to share, and the job survives the same losses with any of
// them.
var unshown = []ruletest.Rule{
	ruletest.New("place.go", "neighbouring ranks are close together",
		"		pl.near[k] = h\n", ""),
	ruletest.New("place.go", "replicas that have to be together are on the nearest host with room",
		"			if withRoom < 0 {\n				withRoom = h\n			}\n", "			withRoom = h\n"),
}

// table names the tests that must fail if a rule is removed.
var table = ruletest.Table{Root: ".", Rules: rules, Unshown: unshown, Test: "Test(Place.*|Spares.*)", Sign: "--- FAIL: Test(Place|Spares)"}

// TestRulesStand looks for the text of every rule.
func TestRulesStand(t *testing.T) { table.Stand(t) }

// TestRulesAreNeeded removes every rule in turn: the tests of placement must fail.
func TestRulesAreNeeded(t *testing.T) { table.Needed(t) }
