package head

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// rule is a line or more of the head, and what stands there without the rule.
type rule struct{ file, name, text, instead string }

// rules are those that the walks show to be needed.
var rules = []rule{
	{"join.go", "what is born is started once that is kept", "	m.to(starting)\n	m.made = true\n	h.act(Start{m.from, m.process, m.role})", "	m.to(starting)\n	m.made = true"},
	{"join.go", "a joiner is told that it is one", "	s.Joiner = m.role == Joiner\n", ""},
	{"join.go", "all have joined before anybody begins", "		case !m.ready():\n			return\n		}\n		if first == nil", "		}\n		if first == nil"},
	{"join.go", "who comes later is introduced when all have said where they listen", "		case m.role == First && m.state.there() && !m.ready():\n			return\n", ""},
	{"join.go", "nobody comes later before all have begun", "	if !h.hasBegun || h.phase == joining { // not before the others have begun\n		return\n	}\n", ""},
	{"join.go", "a successor tells a joiner of the deaths since", "		if m.again { // it may not have heard what was told to all\n			h.tellAll(m)\n		}\n", ""},
	{"join.go", "a process hears of the deaths before it had its place", "		h.ready(m)\n		return\n	}\n	h.tellAll(m)\n}", "		h.ready(m)\n		return\n	}\n}"},
	{"join.go", "a process that could not be started leaves its place", "		m.to(ended)\n		h.withdraw(m, e.Err)\n", "		m.to(ended)\n"},
	{"join.go", "what could not be started under another head writes nothing", "	case m.state == dead, m.state == ended: // under another head; it never was, and so writes nothing\n		h.settled(m)\n", ""},
	{"join.go", "a joiner that was dismissed before its place was kept leaves its place", "		if !m.made { // nobody has started it\n			m.settled = true\n			h.dismissed(m)\n		}\n", ""},
	{"join.go", "a spare of a lost host is waited for no longer", "			m.to(ended)\n			h.startIfReady()\n			return\n", "			return\n"},
	{"death.go", "a death is told to all", "	h.tell(&v.Verdict)\n", ""},
	{"death.go", "who has ended well is no failure", "	case ended: // it was let go\n", "	case ended:\n		h.lose(v, \"\")\n"},
	{"death.go", "recovery hears of deaths", "	h.died(m)\n	h.settle()\n", "	h.settle()\n"},
	{"death.go", "a death may be what is waited for", "	h.startIfReady()\n	h.releaseIfComplete()\n}\n\n// tell everybody", "}\n\n// tell everybody"},
	{"death.go", "a place is filled once its output is settled", "	m.settled = true\n	h.fill(m.process)\n", "	m.settled = true\n"},
	{"death.go", "who was dead before a succession comes to its end", "		if !m.settled && (m.state == dead || m.state == ended) { // that was under another head", "		if false {"},
	{"death.go", "and so when its host is lost after it", "		case !m.settled && m.exit == nil && (m.state == dead || m.state == ended):", "		case false:"},
	{"death.go", "spares of a lost host are gone", "		case m.role == Spare && m.state.there():", "		case false:"},
	{"death.go", "a process without its control connection is killed", "	h.after(lastWords, timer{kind: killDeaf, m: m})\n", ""},
	{"death.go", "and one whose wrapper goes on", "	m.ending = &ending{job.CauseExit, \"its program ended, but the wrapper that started it did not\"}\n	h.kill(m)\n", ""},
	{"death.go", "what is not needed leaves its place", "	m.to(ended)\n	h.withdraw(m, \"not needed any more\")\n", "	m.to(ended)\n"},
	{"kills.go", "who announces its death and does not die is killed", "		h.after(lastWords, timer{kind: killMember, m: m})\n", ""},
	{"kills.go", "a kill at a time comes about", "	h.detailf(\"%v is killed on request\", m.process)\n	h.kill(m)\n", "	h.detailf(\"%v is killed on request\", m.process)\n"},
	{"weibull.go", "the schedule goes on behind a injection", "	if h.phase == working {\n		h.awaitInjection()\n	}\n", ""},
	{"end.go", "who does not go when told is killed", "	h.after(endGrace, timer{kind: killEverybody})\n", ""},
	{"end.go", "and who does not when released", "	h.after(releaseGrace, timer{kind: killEverybody})\n", ""},
	{"end.go", "and who does not when signalled", "	h.after(termGrace, timer{kind: killEverybody})\n}\n\n// interruptCode", "}\n\n// interruptCode"},
	{"ledger.go", "nobody goes while somebody is to come", "	if len(h.wanted) > 0 {\n		return false\n	}\n", ""},
	{"ledger.go", "nor while a joiner is on its way", "		case m.coming():\n			return false\n		case m.alive()", "		case m.alive()"},
	{"ledger.go", "nor before the end is kept of all that live", "		case m.alive() && h.state.Places[m.process].Status != decision.Done:\n			return false\n", ""},
	{"ledger.go", "the end goes whose rank has more replicas", "	case a <= 1 && b <= 1:\n		return nil\n	case a > b:\n		return p\n	}\n	return q", "	case a <= 1 && b <= 1:\n		return nil\n	case a < b:\n		return p\n	}\n	return q"},
	{"ledger.go", "suspicion never kills the last of a rank", "	case a <= 1 && b <= 1:\n		return nil\n", "	case a <= 1 && b <= 1:\n		return p\n"},
	{"ledger.go", "a rank that is through is not lost", " && !h.state.Drained[v.Process.Rank] && !h.config.replaces()", " && !h.config.replaces()"},
	{"ledger.go", "whether a rank is lost recovery says, if it can bring it back", " && !h.config.replaces() {", " {"},
	{"log.go", "a decision is carried out once", "		h.asked = h.asked[1:]\n", ""},
	{"member.go", "who is gone counts until that is decided", "return m.role == First && m.state != dead }", "return m.role == First && m.state != dead && m.state != gone }"},
	{"recover.go", "what follows from a decision waits until that is kept", "			h.keep(*a.Decision)\n			return\n", "			h.keep(*a.Decision)\n"},
	{"recover.go", "and so do events", "	for !r.keeping && !r.acting {", "	for !r.acting {"},
	{"recover.go", "the output of a joiner goes on where that of its donor stood", "			d.Joined[i].Output = h.places[d.Joined[i].Donor].stood\n", ""},
	{"recover.go", "it goes on when it is admitted", "				h.act(Resume{m.from, j.Output, d.Generation})\n", ""},
	{"recover.go", "in a rollback the output of all goes back", "				h.act(Mute{m.from})\n", ""},
	{"recover.go", "to where it stood at the backup", "			d.Outputs = encode(s.outputs)\n", ""},
	{"recover.go", "who stands in a cut has written all", "	case job.ReplyDrained, job.ReplyJoined, job.ReplyReady:\n		h.askQuiet(asked{m, &r})\n		return\n", ""},
	{"recover.go", "in a rollback what has finished has not", "				if m.state == finished {\n					m.to(running)\n				}\n", ""},
	{"recover.go", "a successor hears the end of what was told before", "		h.notify(news{kind: newsRepeated}.about(m))\n", ""},
	{"recover.go", "a process that is back under another head goes on only once", "m.muted && r.Generation", "r.Generation"},
	{"replace.go", "nobody writes in a place where another may", "!wanted || !old.settled ||", "!wanted ||"},
	{"replace.go", "a lost host is left", "	case !lost && (old.verdict", "	case (old.verdict"},
	{"replace.go", "a joiner that nobody has started is dismissed at once", "	case was == chosen && h.placed(m): // under another head, and nobody has started it\n		m.settled = true\n		h.dismissed(m)\n", ""},
	{"join.go", "nobody has a place before it is known what was found", "		case h.unopened():\n", "		case h.unopened() && !h.opening:\n"},
	{"files.go", "a set is published once it is kept that it is whole", "	h.propose(decision.Entry{Kind: decision.SetWhole, Set: &decision.Set{Number: a.Set, Cut: a.Cut, Files: a.Files}})\n", "	h.publish(&decision.Set{Number: a.Set, Cut: a.Cut, Files: a.Files})\n"},
	{"files.go", "the job ends after its files are complete", "	h.publishing++\n", ""},
	{"hear.go", "what has finished is known", "	h.notify(news{kind: newsFinished}.about(m))\n", ""},
	{"restore.go", "what is born and was not started is started", "			h.launch(m)\n", ""},
	{"restore.go", "what was not born is", "			h.choose(h.enroll(p, firstIncarnation, From{h.config.Of[p], p, firstIncarnation}, First))\n", "			h.enroll(p, firstIncarnation, From{h.config.Of[p], p, firstIncarnation}, First)\n"},
	{"restore.go", "who has not begun is waited for and begins", "			h.phase = joining\n", ""},
	{"restore.go", "a spare that waits can be given a place", "		if m.state = starting; x.Joined {\n			m.state = waiting\n		}\n", "		m.state = starting\n"},
	{"restore.go", "who has the place of a spare is known by its name", "		from.Incarnation = firstIncarnation\n", ""},
	{"restore.go", "who has its state is no joiner", "	if at.Incarnation == firstIncarnation || h.lived(p, at.Incarnation) {", "	if at.Incarnation == firstIncarnation {"},
	{"restore.go", "the output goes on of whom the agent has not heard that", "		h.restoreVoice(m, x)\n", ""},
	{"restore.go", "what has finished stays so", "		m.state, m.told = finished, true\n", "		m.state, m.told = starting, true\n"},
	{"restore.go", "who has finished hears of deaths", "		case m.state == finished:\n			h.tellAll(m)\n", ""},
	{"restore.go", "what was released is", "			h.release()\n", ""},
	{"restore.go", "a job that was decided ends", "			h.finish()\n", ""},
	{"restore.go", "the loss of a rank is known to a successor", "		h.die(v, m.role == First)\n", ""},
	{"restore.go", "questions of an earlier head are not taken for its own", "	h.recovery.number = s.Term << 32 // not to be taken for what a head before has asked\n", ""},
	{"suspect.go", "a link that was restored is no reason", "	if !slices.ContainsFunc(h.doubts, func(o linkDoubt) bool { return o.of == m && o.about == other }) {\n		return\n	}\n", ""},
	{"suspect.go", "a host that may be lost is waited for", "	if h.doubtful(m) || h.doubtful(other) ||", "	if"},
	{"suspect.go", "of two that are stopped one stays", " && !h.stoppedNow(peer)", ""},
}

// unshown are rules that no walk shows to be needed, and why.
var unshown = []rule{
	// TestLinkIsJudgedByWhatIsKept shows it: the walks come to that moment once in 50,000.
	{"recover.go", "nobody is killed because of a backup that is not kept", "h.recovery.decides == nil || h.recovery.keeping || p", "h.recovery.decides == nil || p"},
	// A link to a process that is dead and not yet declared so is given up as one that breaks, which the walks do not model.
	{"join.go", "a death is decided before all begin without the dead", "		case m.state == gone: // and everybody has yet to hear of it\n			return\n", "		case m.state == gone:\n			continue\n"},
}

// TestRulesStand looks for the text of every rule in the head, where it has to be
// once: the table says what is there.
func TestRulesStand(t *testing.T) {
	for _, r := range slices.Concat(rules, unshown) {
		t.Run(r.name, func(t *testing.T) {
			_, err := r.without()
			require.NoError(t, err)
		})
	}
}

// TestRulesAreNeeded takes every rule out of the head in turn, and walks with what
// is left: that must fail. It takes long, and runs for the rules whose names
// INTRA_RULES matches.
func TestRulesAreNeeded(t *testing.T) {
	names := os.Getenv("INTRA_RULES")
	if names == "" {
		t.Skip("INTRA_RULES=. takes every rule out in turn")
	}
	wanted, err := regexp.Compile(names)
	require.NoError(t, err)
	for _, r := range slices.Concat(rules, unshown) {
		if !wanted.MatchString(r.file + ": " + r.name) {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			out, found := r.walk(t, t.TempDir())
			if slices.Contains(unshown, r) {
				require.False(t, found, "it is shown now: %s", out)
				return
			}
			require.True(t, found, "no walk shows that it is needed")
			how := regexp.MustCompile(`(?m)^.*(seed \d+ |panic: |in no walk ).*$`).FindString(out)
			require.NotEmpty(t, how, "it fails in another way: %s", out)
			t.Log(strings.TrimSpace(how))
		})
	}
}

// walk runs the walks without the rule, and reports whether one fails.
func (r rule) walk(t *testing.T, dir string) (out string, failed bool) {
	text, err := r.without()
	require.NoError(t, err)
	path, err := filepath.Abs(r.file)
	require.NoError(t, err)
	mutant, overlay, binary := filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "head.test")
	require.NoError(t, os.WriteFile(mutant, []byte(text), 0o600))
	b, err := json.Marshal(map[string]any{"Replace": map[string]string{path: mutant}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, b, 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	built, err := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, "build without the rule: %s", built)
	run := exec.CommandContext(ctx, binary, "-test.run", "^TestWalks$", "-test.failfast", "-test.timeout", "9m")
	run.Env = append(os.Environ(), "INTRA_SOAK=54000")
	b, err = run.CombinedOutput()
	return string(b), err != nil
}

// without returns the file of a rule without the rule.
func (r rule) without() (string, error) {
	b, err := os.ReadFile(r.file)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(b), r.text); n != 1 {
		return "", fmt.Errorf("%s has %d times what the table says:\n%s", r.file, n, r.text)
	}
	return strings.Replace(string(b), r.text, r.instead, 1), nil
}
