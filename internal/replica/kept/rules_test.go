package kept

import (
	"testing"

	"github.com/intrahpc/intra/internal/testkit/ruletest"
)

// table holds the rules of the machine, and some of its driver, that the schedules prove
// necessary.
var table = ruletest.Table{Root: ".", Test: "TestSchedules|TestForgottenProtect|TestDomains|TestDivergedPieces|TestDivergedCut|TestStepsBack", Soak: 20000,
	Sign: `INTRA_SEED=\d+|--- FAIL: `, Rules: []ruletest.Rule{
		// The map.
		ruletest.New("section.go", "the results of a task are current only where it ran",
			"			by = 1 << r.owners[t]\n		}\n		for i := range regions {\n			if g", "			by |= 1 << r.owners[t]\n		}\n		for i := range regions {\n			if g"),
		ruletest.New("holders.go", "the map is cut at the ends of a region",
			"list = append(list, run{h.runs[i].clip(s), h.runs[i].by})", "list = append(list, h.runs[i])"),
		ruletest.New("holders.go", "dead replicas hold nothing", "	by &= h.live\n", ""),
		ruletest.New("holders.go", "memory that only a dead replica had is lost",
			"		if r.by &= h.live; r.by != h.live {\n", "		if r.by &= h.live; r.by != h.live && r.by != 0 {\n"),
		ruletest.New("cut.go", "a joiner has no areas, so its sibling forgets its own in the cut", "	m.tidy() // no area is left, as in a joiner\n", ""),

		// Needs.
		ruletest.New("section.go", "the inputs of a task are current where it runs",
			"			if regions[i].reads() {\n				needs", "			if false {\n				needs"),
		ruletest.New("section.go", "an out region that is written only in part keeps its other bytes",
			" || r.Mode == update.Out && !r.Full\n", "\n"),
		ruletest.New("section.go", "another section needs its inputs on both replicas",
			"		by := both\n		if r.keeps {\n			r.owners", "		by := set(1)\n		if r.keeps {\n			r.owners"),
		ruletest.New("section.go", "partial results are sent to both replicas", "		m.passPartials()\n", ""),
		ruletest.New("machine.go", "pieces come from the replica that has them",
			"			if r.by.has(m.me) {\n", "			if m.me == 0 {\n"),
		ruletest.New("machine.go", "pieces are applied at their place in the program, not earlier",
			"	a, ok := m.inbox[m.open.number]\n", "	a, ok := m.inbox[m.open.number]\n	for n, x := range m.inbox {\n		a, ok = x, true\n		a.frame.Signature, m.open.number = m.open.signature, n\n	}\n"),
		ruletest.New("machine.go", "replicas wait for pieces", "	if !ok {\n		return false\n	}\n	if a.frame", "	if !ok {\n		return true\n	}\n	if a.frame"),
		ruletest.New("section.go", "a task that needs pieces waits for them", "		case lacks:\n", "		case false:\n"),
		ruletest.New("machine.go", "replicas with different maps are found", "	if a.frame.Signature != m.open.signature {", "	if false {"),
		ruletest.New("machine.go", "frames for a dead sibling are not sent to the next one", "		m.act(Action{Kind: DropHeld})\n", ""),
		ruletest.New("machine.go", "all memory is current at the end", "	m.tidy()\n	m.exchange(m.all(nil))\n", ""),
		ruletest.New("operation_test.go", "the memory of a send is current", "		return p.touched(o.part, func() error { return p.send(o) })\n", "		p.next()\n		return p.send(o)\n"),
		ruletest.New("operation_test.go", "the buffer of a receive is current when it is posted", "		return p.touched(o.part, func() error { return p.receive(o) })\n", "		p.next()\n		return p.receive(o)\n"),

		// Room.
		ruletest.New("machine.go", "pieces for which there is no room are kept", "		m.heldBack = append(m.heldBack, f.Bytes)\n		m.act(Action{Kind: Hold, Frame: f, Mem: out})\n", ""),
		ruletest.New("machine.go", "no more pieces are in flight than there is room for", "	if len(m.heldBack) > 0 || !m.fits(f.Bytes) {\n", "	if false {\n"),
		ruletest.New("machine.go", "pieces are sent in order", "	if len(m.heldBack) > 0 || !m.fits(f.Bytes) {\n", "	if !m.fits(f.Bytes) {\n"),
		ruletest.New("machine.go", "a frame larger than the room is sent alone", "return m.under == 0 || m.under+n", "return m.under+n"),
		ruletest.New("machine.go", "the sibling is informed of room", "	if m.paired() {\n		m.act(Action{Kind: Send, Frame: Frame{Kind: Applied", "	if false {\n		m.act(Action{Kind: Send, Frame: Frame{Kind: Applied"),
		ruletest.New("point.go", "a replica waits for room at safe points", "	case len(m.heldBack) > 0: ", "	case false: "),

		// Settled points.
		ruletest.New("point.go", "the image before stays until the next one is whole",
			"	if im.whole() {\n		m.dropImages(len(m.images) - 1)\n	}\n	m.fill()", "	m.dropImages(len(m.images) - 1)\n	m.fill()"),
		ruletest.New("point.go", "the image before goes when the next one is whole", "	im.lacks = nil\n	m.dropImages(last)\n", "	im.lacks = nil\n"),
		ruletest.New("point.go", "parts that a replica lacks are sent from image to image",
			"	m.act(Action{Kind: Fill, Point: im.point, Parts: im.lacks, Token: half.token})\n", ""),
		ruletest.New("point.go", "at most one image is not whole", "	case !m.half.complete():\n", "	case false:\n"),
		ruletest.New("point.go", "both replicas combine the same proposals", "		by[1-m.me] = m.half.theirs[m.half.at].frame.Proposal\n", ""),
		ruletest.New("point.go", "the size of other memory that is not current everywhere is bounded", "		if m.holders.bytes(p.Registered) > m.cfg.Strays {", "		if false {"),
		ruletest.New("point.go", "no rollback uses an image that will never be whole", "	if last < 0 || m.images[last].whole() {", "	if true {"),
		ruletest.New("point.go", "the log of such an image belongs to the image before", "	m.images[last-1].since.append(&m.images[last].since)\n", ""),
		ruletest.New("point.go", "a replica alone that lacks registered state rolls back at a settled point", "		if len(m.registered()) > 0 {\n", "		if false {\n"),
		ruletest.New("point.go", "freed communicators are closed in the end", "			m.act(Action{Kind: Close, Context: ctx})\n", "			_ = ctx\n"),
		ruletest.New("log.go", "freed communicators stay open while an image needs them", "		return false, nil // a Free", "		if o.Kind == OpFree {\n			m.act(Action{Kind: Close, Context: o.Context})\n		}\n		return false, nil // a Free"),
		ruletest.New("second.go", "communicators that a second run frees are closed at once", "	if o.Kind == OpFree {\n", "	if false {\n"),

		// Cuts.
		ruletest.New("cut.go", "all memory is current in a cut", "m.divide(m.all(nil))", "m.divide(nil)"),
		ruletest.New("cut.go", "no image from before a cut is left", "as in a joiner\n	m.dropImages(len(m.images))\n", "as in a joiner\n"),
		ruletest.New("cut.go", "a replica waits in a cut for what it lacks", "	case m.paired():\n		return Step{Kind: Wait}\n", ""),
		ruletest.New("cut.go", "replicas with different maps complete no cut", "		if a.frame.Signature != c.signature {", "		if false {"),
		ruletest.New("cut.go", "a cut that the sibling has passed leaves the map as it was", "c.missed, h.runs = true, c.before", "c.missed = true"),
		ruletest.New("cut.go", "a replica that has passed a safe point answers a cut there", "	m.whole = arrival{f, token}\n	m.refuseWhole()\n", "	m.whole = arrival{f, token}\n"),
		ruletest.New("cut.go", "a dead sibling takes part in no later cut", "	m.whole = arrival{}\n	m.cut.miss(m.cut", "	m.cut.miss(m.cut"),
		ruletest.New("point.go", "a replica that passes a safe point answers a cut there", "	m.refuseWhole()\n", ""),
		ruletest.New("point.go", "the safe point of a cut becomes a settled point", "			m.newImage()\n			m.plan.Next = max(m.plan.Next, p.Number+1)\n", ""),
		ruletest.New("machine.go", "a replica in a cut that lacks lost memory rolls back", "	if m.cut.open && len(m.holders.runs) > 0 {\n", "	if false {\n"),
		ruletest.New("cut.go", "exchanges are numbered from 0 when a replica joins", "	m.exchanges, m.under, m.heldBack, m.half, m.whole = 0, 0, nil, newHalves(), arrival{}\n", "	m.under, m.heldBack, m.half, m.whole = 0, nil, newHalves(), arrival{}\n"),

		// Deaths.
		ruletest.New("machine.go", "pieces of a dead replica that have not arrived are lost", "		if _, ok := m.inbox[m.open.number]; !ok {\n			m.behind = true\n		}\n", ""),
		ruletest.New("machine.go", "a replica that needs lost memory rolls back", "				m.behind = true\n				return nil, nil, 0\n", "				continue\n"),
		ruletest.New("machine.go", "tasks of a dead replica are adopted", "	m.adopt()\n	m.rest()\n", "	m.rest()\n"),
		ruletest.New("section.go", "adopted tasks need current inputs", "				m.behind = true\n", ""),
		ruletest.New("section.go", "tasks are adopted even after the replica's own tasks have ended", "		m.open, r.exits = nil, false\n", ""),
		ruletest.New("machine.go", "the image stays while memory is lost", " || len(m.holders.runs) > 0 {", " {"),
		ruletest.New("machine.go", "the image is discarded when no memory is lost", "	m.dropImages(len(m.images))\n}", "}"),

		// The second run.
		ruletest.New("second.go", "messages that were sent are not sent again", "	return true, nil\n", "	return false, nil\n"),
		ruletest.New("second.go", "a second run does the same operations", "	if ops[0] != o {", "	if false {"),
		ruletest.New("second.go", "a second run computes the same results", "ok && first != hash {", "false && ok && first != hash {"),
		ruletest.New("second.go", "a second run gets the messages of the first", "		s.Messages = im.since.messages\n", ""),
		ruletest.New("second.go", "a second run gets the decisions of the first", "		s.Decisions = im.since.decisions\n", ""),
		ruletest.New("second.go", "a second run gets the results of Once of the first", "		s.Results = im.since.results\n", ""),
		ruletest.New("second.go", "a second run lacks nothing", "		m.holders.runs, m.areas = nil, nil\n", ""),
		ruletest.New("core_test.go", "messages are logged when they are whole, not when the program waits for them",
			"	p.m.Received(", "	if p.program().ops[p.at.pc].kind == waitReceive {\n		p.m.Received(Message{})\n		return\n	}\n	p.m.Received("),
		ruletest.New("process_test.go", "memory that is sent is copied before the image overwrites it", "				if m.data == nil && !m.done {\n", "				if false {\n"),
		ruletest.New("process_test.go", "receives that are not whole are undone", "				m.bound = nil\n", "				_ = m\n"),
		ruletest.New("process_test.go", "receives of the first run no longer match", "		p.posted, p.pending = nil, nil\n", "		p.pending = nil\n"),
		ruletest.New("operation_test.go", "communicators that the first run made are joined", "		if p.opened[o.ctx] != again || p.closed[o.ctx] {\n", "		if p.opened[o.ctx] || p.closed[o.ctx] {\n"),
		ruletest.New("operation_test.go", "safe points count once", "		p.passed = max(p.passed, o.point)\n", "		p.passed++\n"),
		ruletest.New("process_test.go", "sections are numbered as in the first run", "	p.at = at.clone()\n", "	sections := p.at.sections\n	p.at = at.clone()\n	p.at.sections = max(sections, p.at.sections)\n"),
		ruletest.New("process_test.go", "lines, sends and calls of Once are numbered as in the first run", "	p.at = at.clone()\n", "	lines := p.at.lines\n	p.at = at.clone()\n	p.at.lines = max(lines, p.at.lines)\n"),
	}}

func TestRulesStand(t *testing.T) { table.Stand(t) }

// TestRulesAreNeeded removes each rule in turn: the schedules have to fail.
func TestRulesAreNeeded(t *testing.T) { table.Needed(t) }
