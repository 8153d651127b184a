package recovery

import (
	"testing"

	"github.com/intrahpc/intra/internal/testkit/ruletest"
)

// rules are rules that the schedules of package simulation hardly ever need.
var rules = []ruletest.Rule{
	ruletest.New("head.go", "replies from before a rollback do not count",
		"	if r.Generation != h.generation {", "	if false {"),
	ruletest.New("trust.go", "only a backup from before a process may have erred is trusted",
		"return b.trusted || b.number <= sure })", "return true })"),
	ruletest.New("cut.go", "all tasks are compared until a backup is complete",
		"h.backups.entire = h.backups.entire && h.backups.complete == nil", "h.backups.entire = h.backups.entire && number < h.config.First()"),
	ruletest.New("snapshot.go", "a successor tells processes in a cut how tasks are compared from there on",
		"earlier(p.Backup, p.Files), d.Entire\n", "earlier(p.Backup, p.Files), false\n"),
	ruletest.New("resume.go", "a successor knows how tasks are compared",
		", p.Entire\n", ", h.entire\n"),
	ruletest.New("trust.go", "only a backup from before the error is sound",
		"(below == 0 || b.number < below) && ", ""),
	ruletest.New("rollback.go", "a rollback to a backup that is not from before the error goes to an older one instead",
		"h.Returning() && (below == 0 || h.backups.Before(below)) {", "h.Returning() {"),
	ruletest.New("replicas.go", "a backup is trusted once all processes are known to be sound",
		"sure = min(sure, s.sure)", "sure = max(sure+1, s.sure)"),
	ruletest.New("trust.go", "backups younger than a trusted one are void",
		"		bs.older = bs.older[:slices.Index(bs.older, b)]\n", ""),
	ruletest.New("rollback.go", "a process that has rolled back holds the backup that it rolled back to",
		"b.number == r.Number && ", ""),
	ruletest.New("../agent/agentlog/replies.go", "copies of older backups are reported again",
		" || slices.Contains(s.older, number)", ""),
	ruletest.New("../agent/agentlog/replies.go", "a rollback to an older backup is reported again",
		"	case job.ReplyReady: // it also confirms that the process holds a copy\n		return r.Number == old.Number\n", ""),
	ruletest.New("slots.go", "copies of older backups are kept",
		"return n >= number || slices.Contains(older, n)", "return n >= number"),
	ruletest.New("replace.go", "a process that cannot be started is requested again",
		"	h.acts = append(h.acts, Action{Kind: Later, Pause: pause})\n", ""),
	ruletest.New("relieve.go", "a joiner that relieves a process takes its slot when that dies",
		"	*s = *r\n	s.relieves, s.attempts = false, attempts\n", "	_ = attempts\n"),
	ruletest.New("relieve.go", "a process continues if the one that was to relieve it has died",
		"		if slices.Contains(void, job.Endpoint{Process: j.Process, Incarnation: j.Incarnation}) {\n			continue\n		}\n", ""),
	ruletest.New("relieve.go", "another joiner is requested for one that has died",
		"	h.acts = append(h.acts, Action{Kind: Later, Pause: pause})\n	return true\n", "	return true\n"),
	ruletest.New("relieve.go", "joiners that no longer relieve a process are dismissed",
		"		h.dismissReliefs() // no more cuts are possible\n", ""),
	ruletest.New("relieve.go", "a successor knows which joiner relieves which process",
		"			h.reliefs = append(h.reliefs, r)\n		}\n	}\n}", "			_ = r\n		}\n	}\n}"),
	ruletest.New("relieve.go", "an empty list of joiners ends the cut",
		"	if len(joined) == 0 {\n		h.leave()\n		return h.acts\n	}\n", ""),
	ruletest.New("degree.go", "joiners of a rank that has enough replicas are dismissed",
		"			h.dismiss(s)\n", ""),
	ruletest.New("degree.go", "the last replica of a rank is not let go",
		"		!slices.ContainsFunc(others, func(q job.Process) bool { o := p.place(q); return o.alive() }) {", "		false {"),
	ruletest.New("degree.go", "the head forgets a process that was let go",
		"	*s = replica{process: s.process, incarnation: s.incarnation}\n}\n\n// Departed", "}\n\n// Departed"),
	ruletest.New("relieve.go", "the head forgets no process that stays after all",
		"		if !slices.Contains(void, e) {", "		if true {"),
	ruletest.New("loss.go", "a lost rank waits for a process that could not be started",
		" && !h.replicas.pausing(rank) {", " {"),
}

var table = ruletest.Table{Root: ".", Rules: rules, Test: "TestSchedules", Soak: 6000, Sign: `INTRA_SEED=\d+`}

// choices are the rules that choose the process to hold the copy of another rank, and the
// processes that are let go or join.
var choices = ruletest.Table{Root: ".", Rules: []ruletest.Rule{
	ruletest.New("backup.go", "a partner is on another host", "				cost += 1000\n", "				cost += 0\n"),
	ruletest.New("backup.go", "another host outweighs the number of copies that each process holds", "				cost += 1000\n", "				cost++\n"),
	ruletest.New("backup.go", "each holds as few copies as can be", "						cost += 2\n", "						cost += 0\n"),
	ruletest.New("backup.go", "a partner is of another rank, from the next one on", "r := (rank + i) % len(", "r := (rank + i - 1) % len("),
	ruletest.New("backup.go", "a partner lives", "!s.alive() || b.has(rank, s)", "b.has(rank, s)"),
	ruletest.New("backup.go", "a partner has no copy yet", "!s.alive() || b.has(rank, s)", "!s.alive()"),
	ruletest.New("backup.go", "a renewed copy is on another host than the process that sends it", "		to := bs.partner(b, rank, giver)\n", "		to := bs.partner(b, rank, nil)\n"),
	ruletest.New("degree.go", "a process that is about to die does not stay",
		"				n--\n", ""),
	ruletest.New("degree.go", "a process that is about to die is not let go",
		"			case h.config.Dying != nil && h.config.Dying(s.process):\n				n--\n", ""),
	ruletest.New("degree.go", "a process that holds the last copy of a backup is not let go",
		" && !(h.backups.returns() && !h.backups", " && !(false && !h.backups"),
	ruletest.New("replace.go", "a rank gets no more replicas than it is to have",
		" || h.replicas.taken(s.process.Rank) >= h.replicas.targets[s.process.Rank] {", " {"),
	ruletest.New("relieve.go", "a process that is about to be let go is not relieved",
		" || h.replicas.surplus(s.process.Rank) > 0 {", " {"),
}, Test: "Test(Partners.*|Who.*)", Sign: "--- FAIL: Test(Partners|Who)"}

func TestRulesStand(t *testing.T) {
	table.Stand(t)
	choices.Stand(t)
}

// TestRulesOfTheHeadAreNeeded removes each rule in turn: the schedules must fail, or the
// tests of choices.
func TestRulesOfTheHeadAreNeeded(t *testing.T) {
	table.Needed(t)
	choices.Needed(t)
}
