package agentlog

import (
	"testing"

	"github.com/intrahpc/intra/internal/testkit/ruletest"
)

// rules are the rules of the log. The tables of packages head and simulation repeat the rules
// without which jobs fail.
var rules = []ruletest.Rule{
	ruletest.New("host.go", "a process is started once", "before.Incarnation >= of.Incarnation", "before.Incarnation > of.Incarnation"),
	ruletest.New("host.go", "an old order starts no process", "before.Incarnation >= of.Incarnation", "before.Incarnation == of.Incarnation"),
	ruletest.New("host.go", "the next process in a slot has a log of its own", "before != nil && before.Incarnation >= of.Incarnation", "before != nil"),
	ruletest.New("host.go", "a link is made once", "	h.links[of] = true\n", ""),
	ruletest.New("host.go", "a frame for a process that has ended reaches no other process", "p != nil && p.Incarnation == of.Incarnation", "p != nil"),
	ruletest.New("host.go", "the output of a first process counts from its start on", ", Voiced: voiced}}", "}}"),
	ruletest.New("process.go", "pieces of the timeline are not kept", "	case job.KindTrace: // the timeline is lost with the head\n		return\n", ""),
	ruletest.New("process.go", "only the latest counts are kept", "old.is(job.KindStats) })", "false && old.is(job.KindStats) })"),
	ruletest.New("process.go", "only the latest report about a link is kept", "return old.is(job.KindSuspect) && *old", "return false && *old"),
	ruletest.New("process.go", "a report about a link replaces no report about another link", "old.is(job.KindSuspect) && *old.Message.Process == *m.Process", "old.is(job.KindSuspect)"),
	ruletest.New("process.go", "the report of a restored link is not kept", "		if m.Kind == job.KindMended { // as if the link had never ended\n			return\n		}\n", ""),
	ruletest.New("process.go", "after a rollback the program has not returned", "return old.is(job.KindFinish, job.KindDrained)", "return false"),
	ruletest.New("process.go", "replies that no successor needs are dropped", "	p.history = append(p.history, e)\n	p.forget()\n", "	p.history = append(p.history, e)\n"),
	ruletest.New("process.go", "orders make replies void", "		p.said.order(*m.Order)\n", ""),
	ruletest.New("process.go", "void replies are dropped", "		p.said.order(*m.Order)\n		p.forget()\n", "		p.said.order(*m.Order)\n"),
	ruletest.New("process.go", "observations are repeated in the order of sending", "	p.history = append(p.history, entry[S]{Sent: Sent[S]{Seen: seen}})\n", "	p.history = slices.Insert(p.history, 0, entry[S]{Sent: Sent[S]{Seen: seen}})\n"),
	ruletest.New("process.go", "messages are repeated in the order of sending", "	p.history = append(p.history, e)\n	p.forget()\n", "	p.history = slices.Insert(p.history, 0, e)\n	p.forget()\n"),
	ruletest.New("process.go", "a successor learns how long ago a death was handled", "			m.Ago = now - e.at\n", ""),
	ruletest.New("process.go", "every successor learns the time by the same clock", "			m := *e.Message\n			m.Ago = now - e.at\n			s.Message = &m\n", "			e.Message.Ago += now - e.at\n"),
	ruletest.New("process.go", "a process receives its slot once", "		if p.placed {\n			return false\n		}\n", ""),
	ruletest.New("process.go", "a process receives no verdicts from before it had its slot", "p.placed, p.epoch = true, m.Epoch // earlier", "p.placed = true // earlier"),
	ruletest.New("process.go", "a process receives a link once", "q.Incarnation <= p.linked[q.Process]", "q.Incarnation < p.linked[q.Process]"),
	ruletest.New("process.go", "a link to an earlier incarnation is discarded", "q.Incarnation <= p.linked[q.Process]", "q.Incarnation == p.linked[q.Process]"),
	ruletest.New("process.go", "a process begins once", "		if p.Begun {\n			return false\n		}\n", ""),
	ruletest.New("process.go", "a process receives a verdict once", "m.Verdict.Epoch <= p.epoch", "m.Verdict.Epoch < p.epoch"),
	ruletest.New("process.go", "a process is released once", "		if p.Freed {\n			return false\n		}\n", ""),
	ruletest.New("process.go", "output is resumed once in each generation", "	if p.Voiced && generation <= p.Generation {\n", "	if false {\n"),
	ruletest.New("process.go", "output that has not begun is resumed in the first generation, too", "p.Voiced && generation <= p.Generation", "generation <= p.Generation"),
	ruletest.New("orders.go", "a cut is left once", "cmp.Compare(o.Number, h.left.Number)) <= 0", "cmp.Compare(o.Number, h.left.Number)) < 0"),
	ruletest.New("orders.go", "cuts are numbered from the start in each generation", "cmp.Or(cmp.Compare(o.Generation, h.left.Generation), cmp.Compare(o.Number, h.left.Number))", "cmp.Compare(o.Number, h.left.Number)"),
	ruletest.New("orders.go", "a process receives the end of a rollback once", "o.Generation <= h.resumed", "o.Generation < h.resumed"),
	ruletest.New("orders.go", "a backup is complete once", "o.Number <= h.complete", "o.Number < h.complete"),
	ruletest.New("orders.go", "a backup can be complete again after a rollback to an older one", "		h.complete = o.Number // after a rollback, this may be an older backup\n", "		h.complete = max(h.complete, o.Number)\n"),
	ruletest.New("replies.go", "answers to requests are not repeated", "	case job.ReplyCount, job.ReplyCopied: // answers to a request, which each head makes again\n		return\n", ""),
	ruletest.New("replies.go", "a copy from before the last complete backup is void", "r.Number < s.complete || r.Generation < s.generation", "r.Generation < s.generation"),
	ruletest.New("replies.go", "a copy from before a rollback is void", "r.Number < s.complete || r.Generation < s.generation", "r.Number < s.complete"),
	ruletest.New("replies.go", "a copy to which the job may roll back is never void", "if kept := s.kept(r.Number); !kept && (", "if kept := s.kept(r.Number) && false; !kept && ("),
	ruletest.New("replies.go", "the report of a received link is repeated for each slot", "		return r.Process == old.Process && r.Incarnation", "		return r.Incarnation"),
	ruletest.New("replies.go", "the report of a link is repeated for both processes of a slot", "r.Process == old.Process && r.Incarnation == old.Incarnation //", "r.Process == old.Process //"),
	ruletest.New("process.go", "a link to a dead process is not repeated", "		p.said.dead(m.Verdict.Process, m.Verdict.Incarnation)\n", ""),
	ruletest.New("process.go", "the report of a link to a dead process is dropped from the history", "		p.said.dead(m.Verdict.Process, m.Verdict.Incarnation)\n		p.forget()\n", "		p.said.dead(m.Verdict.Process, m.Verdict.Incarnation)\n"),
	ruletest.New("replies.go", "the failed write of a set may be reported before the set before it", "		return old.Set+1 < r.Set\n", "		return true\n"),
	ruletest.New("replies.go", "copies of different ranks and backups are different", "		return r.Rank == old.Rank && r.Number == old.Number\n", "		return true\n"),
	ruletest.New("replies.go", "two copies after the last complete one are kept", "	if len(numbers) > 1 {\n", "	if len(numbers) > 0 {\n"),
	ruletest.New("replies.go", "only two copies after the last complete one are kept", "	if len(numbers) > 1 {\n", "	if len(numbers) > 2 {\n"),
	ruletest.New("replies.go", "a complete backup makes older copies void", "		s.drop(func(old *job.Reply) bool { return s.void(old) && old.Number < s.complete })\n", ""),
	ruletest.New("replies.go", "a rollback makes younger copies void", "s.generation, s.complete, s.older = o.Generation, o.Number, o.Older\n		s.drop(s.void)\n", "s.generation, s.complete, s.older = o.Generation, o.Number, o.Older\n"),
}

// table names the tests, which have to fail when a rule is removed.
var table = ruletest.Table{Root: ".", Rules: rules, Test: "Test[^R].*", Sign: "--- FAIL: Test[^R]"}

// TestRulesStand looks for the text of every rule.
func TestRulesStand(t *testing.T) { table.Stand(t) }

// TestRulesAreNeeded removes every rule in turn: the tests of the log must fail.
func TestRulesAreNeeded(t *testing.T) { table.Needed(t) }
