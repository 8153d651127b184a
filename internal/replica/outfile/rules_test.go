package outfile

import (
	"testing"

	"github.com/intrahpc/intra/internal/testkit/ruletest"
)

// rules are the rules of the protocol, each with the text that removes it.
var rules = ruletest.Table{
	Root: ".", Test: "TestFileSchedules", Soak: 30_000, Sign: "seed [0-9]+: ",
	Rules: []ruletest.Rule{
		ruletest.New("machine.go", "the next writer writes the kept bytes again",
			"	for _, p := range m.kept.pieces {\n		acts = append", "	for _, p := range m.kept.pieces[:0] {\n		acts = append"),
		ruletest.New("machine.go", "replicas keep the written bytes",
			"			m.kept.add(p)\n", "			_ = p\n"),
		ruletest.New("machine.go", "every replica knows the last writer",
			"	m.writer = o.Writer\n", "	m.writer = m.me\n"),
		ruletest.New("machine.go", "a process writes again before it settles",
			"return append(m.again(), Action{Kind: Fsync})", "return []Action{{Kind: Fsync}}"),
		ruletest.New("machine.go", "a process settles by an fsync",
			"return append(m.again(), Action{Kind: Fsync})", "return m.again()"),
		ruletest.New("machine.go", "Sync ends with an fsync",
			"		if m.dirty {\n			acts", "		if false {\n			acts"),
		ruletest.New("machine.go", "the kept bytes are bounded",
			"if keeps && m.state.Unsynced+int64(n) > int64(m.limit) {", "if false {"),
		ruletest.New("machine.go", "all replicas count the bytes that are not durable, also those that keep less",
			"m.state.Unsynced += int64(len(p.Data))", "m.state.Unsynced = 0\n			for _, k := range m.kept.pieces {\n				m.state.Unsynced += int64(len(k.Data))\n			}"),
		ruletest.New("machine.go", "a rollback cuts the file off",
			"acts = append(acts, Action{Kind: Truncate, Size: c.Size, Whole: !m.dirty})", "acts = acts[:0]"),
		ruletest.New("machine.go", "a rollback of the file moves its end back",
			"	m.state.End = size\n", "	m.state.End = max(m.state.End, size)\n"),
		ruletest.New("machine.go", "bytes of a cut are not overwritten",
			"m.cut, m.before = cut, m.state.End", "m.cut = cut"),
		ruletest.New("machine.go", "bytes of the safe point at which a process begins are not overwritten",
			"cut: cut, before: s.End, limit", "cut: cut, limit"),
		ruletest.New("machine.go", "a copy has another name",
			"Size: c.Size, Version: m.state.Version + 1}", "Size: c.Size, Version: m.state.Version}"),
		ruletest.New("machine.go", "the name is given to the last version",
			"Kind: Rename, Size: c.Size, Version: m.state.Version}", "Kind: Rename, Size: c.Size}"),
		ruletest.New("machine.go", "a copy includes bytes that another writer may have lost",
			"	acts = append(acts, m.again()...)\n	switch", "	if c.Kind != Fork {\n		acts = append(acts, m.again()...)\n	}\n	switch"),
		ruletest.New("machine.go", "a process that runs again alone has the kept bytes",
			"	for i, p := range m.kept.pieces { // limit", "	c.kept.pieces = c.kept.pieces[:0]\n	for i, p := range m.kept.pieces[:0] { // limit"),
		ruletest.New("kept.go", "overwritten bytes are not kept", "	if p.Offset < k.end {", "	if false {"),
	},
	Unshown: []ruletest.Rule{
		// A failed fsync may drop kept bytes, but in the simulation only writes fail.
		ruletest.New("machine.go", "after a write without an outcome the kept bytes are written again",
			"m.writer, m.dirty = 0, true", "m.dirty = true"),
		// Truncated records are written again after the end only in a rare case: the writer
		// dies before the fsync, and another record then takes their place.
		ruletest.New("machine.go", "truncated bytes are not kept", "	m.kept.cutOff(size)\n", ""),
	},
}

func TestRulesStand(t *testing.T) { rules.Stand(t) }

func TestRulesAreNeeded(t *testing.T) { rules.Needed(t) }
