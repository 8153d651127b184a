package agentlog

import (
	"testing"

	"github.com/intrahpc/intra/internal/testkit/ruletest"
)

// rules are the rules of the log. The tables of packages head and simulation repeat
// those without which jobs fail.
var rules = []ruletest.Rule{
	ruletest.New("host.go", "a process is started once", "before.Incarnation >= of.Incarnation", "before.Incarnation > of.Incarnation"),
	ruletest.New("host.go", "an old order starts no process", "before.Incarnation >= of.Incarnation", "before.Incarnation == of.Incarnation"),
	ruletest.New("host.go", "the next process in a place has a log of its own", "before != nil && before.Incarnation >= of.Incarnation", "before != nil"),
	ruletest.New("host.go", "a link is made once", "	h.links[of] = true\n", ""),
	ruletest.New("host.go", "what is for a process that is gone reaches no other one", "p != nil && p.Incarnation == of.Incarnation", "p != nil"),
	ruletest.New("host.go", "a process of the beginning writes output from its start on", ", Voiced: voiced}}", "}}"),
	ruletest.New("process.go", "pieces of the timeline are not kept", "	case job.KindTrace: // the timeline is lost with the head\n		return\n", ""),
	ruletest.New("process.go", "of statistics the latest are kept", "old.is(job.KindStats) })", "false && old.is(job.KindStats) })"),
	ruletest.New("process.go", "of what is said of a link the latest is kept", "return old.is(job.KindSuspect) && *old", "return false && *old"),
	ruletest.New("process.go", "other links are none of it", "old.is(job.KindSuspect) && *old.Message.Process == *m.Process", "old.is(job.KindSuspect)"),
	ruletest.New("process.go", "that a link works again is not kept", "		if m.Kind == job.KindMended { // as if the link had never ended\n			return\n		}\n", ""),
	ruletest.New("process.go", "in the life that begins the program has not returned", "return old.is(job.KindFinish, job.KindDrained)", "return false"),
	ruletest.New("process.go", "replies that no successor needs are dropped", "	p.history = append(p.history, e)\n	p.forget()\n", "	p.history = append(p.history, e)\n"),
	ruletest.New("process.go", "orders make replies void", "		p.said.order(*m.Order)\n", ""),
	ruletest.New("process.go", "what is void is dropped", "		p.said.order(*m.Order)\n		p.forget()\n", "		p.said.order(*m.Order)\n"),
	ruletest.New("process.go", "what is repeated comes in the order in which it was sent", "	p.history = append(p.history, entry[S]{Sent: Sent[S]{Seen: seen}})\n", "	p.history = slices.Insert(p.history, 0, entry[S]{Sent: Sent[S]{Seen: seen}})\n"),
	ruletest.New("process.go", "so do messages", "	p.history = append(p.history, e)\n	p.forget()\n", "	p.history = slices.Insert(p.history, 0, e)\n	p.forget()\n"),
	ruletest.New("process.go", "a successor learns how long ago a death was handled", "			m.Ago = now - e.at\n", ""),
	ruletest.New("process.go", "each successor by the same clock", "			m := *e.Message\n			m.Ago = now - e.at\n			s.Message = &m\n", "			e.Message.Ago += now - e.at\n"),
	ruletest.New("process.go", "a process receives its place once", "		if p.placed {\n			return false\n		}\n", ""),
	ruletest.New("process.go", "verdicts from before it has its place are none for it", "p.placed, p.epoch = true, m.Epoch // earlier", "p.placed = true // earlier"),
	ruletest.New("process.go", "a process receives a link once", "q.Incarnation <= p.linked[q.Process]", "q.Incarnation < p.linked[q.Process]"),
	ruletest.New("process.go", "a link to one that was there before is too late", "q.Incarnation <= p.linked[q.Process]", "q.Incarnation == p.linked[q.Process]"),
	ruletest.New("process.go", "a process begins once", "		if p.Begun {\n			return false\n		}\n", ""),
	ruletest.New("process.go", "a process receives a verdict once", "m.Verdict.Epoch <= p.epoch", "m.Verdict.Epoch < p.epoch"),
	ruletest.New("process.go", "a process is released once", "		if p.Freed {\n			return false\n		}\n", ""),
	ruletest.New("process.go", "output goes on once in each generation", "	if p.Voiced && generation <= p.Generation {\n", "	if false {\n"),
	ruletest.New("process.go", "output that has not begun goes on in the first generation too", "p.Voiced && generation <= p.Generation", "generation <= p.Generation"),
	ruletest.New("orders.go", "a cut is left once", "cmp.Compare(o.Number, h.left.Number)) <= 0", "cmp.Compare(o.Number, h.left.Number)) < 0"),
	ruletest.New("orders.go", "cuts are numbered anew in each generation", "cmp.Or(cmp.Compare(o.Generation, h.left.Generation), cmp.Compare(o.Number, h.left.Number))", "cmp.Compare(o.Number, h.left.Number)"),
	ruletest.New("orders.go", "the end of a rollback comes once", "o.Generation <= h.resumed", "o.Generation < h.resumed"),
	ruletest.New("orders.go", "a backup is complete once", "o.Number <= h.complete", "o.Number < h.complete"),
	ruletest.New("orders.go", "and again when the job has gone back behind it", "		h.complete = o.Number // which may be an older one\n", "		h.complete = max(h.complete, o.Number)\n"),
	ruletest.New("replies.go", "answers to questions are not repeated", "	case job.ReplyCount, job.ReplyCopied: // answers; each head asks again\n		return\n", ""),
	ruletest.New("replies.go", "a copy from before the last complete backup is void", "r.Number < s.complete || r.Generation < s.generation", "r.Generation < s.generation"),
	ruletest.New("replies.go", "a copy from before a rollback is void", "r.Number < s.complete || r.Generation < s.generation", "r.Number < s.complete"),
	ruletest.New("replies.go", "but for one of what the job goes back to", "if kept := s.kept(r.Number); !kept && (", "if kept := s.kept(r.Number) && false; !kept && ("),
	ruletest.New("replies.go", "that a link was got is repeated for each place", "		return r.Process == old.Process && r.Incarnation", "		return r.Incarnation"),
	ruletest.New("replies.go", "and for the process there beside the one that relieves it", "r.Process == old.Process && r.Incarnation == old.Incarnation //", "r.Process == old.Process //"),
	ruletest.New("process.go", "a link to a dead process is not repeated", "		p.said.dead(m.Verdict.Process, m.Verdict.Incarnation)\n", ""),
	ruletest.New("process.go", "and is forgotten", "		p.said.dead(m.Verdict.Process, m.Verdict.Incarnation)\n		p.forget()\n", "		p.said.dead(m.Verdict.Process, m.Verdict.Incarnation)\n"),
	ruletest.New("replies.go", "that a set could not be written may be said before the one before it is", "		return old.Set+1 < r.Set\n", "		return true\n"),
	ruletest.New("replies.go", "copies of different ranks and backups are different", "		return r.Rank == old.Rank && r.Number == old.Number\n", "		return true\n"),
	ruletest.New("replies.go", "two copies after the last complete one are kept", "	if len(numbers) > 1 {\n", "	if len(numbers) > 0 {\n"),
	ruletest.New("replies.go", "and no more", "	if len(numbers) > 1 {\n", "	if len(numbers) > 2 {\n"),
	ruletest.New("replies.go", "a complete backup makes older copies void", "		s.drop(func(old *job.Reply) bool { return s.void(old) && old.Number < s.complete })\n", ""),
	ruletest.New("replies.go", "a rollback makes younger copies void", "s.generation, s.complete, s.older = o.Generation, o.Number, o.Older\n		s.drop(s.void)\n", "s.generation, s.complete, s.older = o.Generation, o.Number, o.Older\n"),
}

// table names the tests that have to fail without a rule.
var table = ruletest.Table{Root: ".", Rules: rules, Test: "Test[^R].*", Sign: "--- FAIL: Test[^R]"}

// TestRulesStand looks for the text of every rule.
func TestRulesStand(t *testing.T) { table.Stand(t) }

// TestRulesAreNeeded removes every rule in turn: the tests of the log must fail.
func TestRulesAreNeeded(t *testing.T) { table.Needed(t) }
