//go:build system

package attack

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

// The judge rejects every wrong history, and accepts every right one. A history is a text
// with one event a line: "0.1 injected 0.5" is a death, "0.1 back 0.6" a replacement,
// "rollback 7 for 1 at 0.5" (or "… over") a rollback to safe point 7, "fired 0.1" a kill
// that happened, "backups 2" the number of backups, "turned 0.1@task" a flipped bit,
// "convicted 0.1" a process that is blamed for a wrong result. "for 0.1" and "doubt 1"
// give the reason of the last rollback: 0.1 was blamed, or rank 1 has an unresolved
// dispute.
func TestJudge(t *testing.T) {
	const (
		lost0   = "rank 0 has lost its last replica 0.1 at 0.500 s (injected: x), after 0.0 (injected)"
		notBack = lost0 + "; rank 0 could not be brought back: "
		onWay   = "the job cannot go back to safe point 7, as it had to since rank 0 was lost: the last process that held the state of rank 0 is dead: 1.0, at 0.600 s (injected: x)"
		rank0   = "fired 0.0, fired 0.1, 0.0 injected 0.4, 0.1 injected 0.5"
		goBack  = rank0 + ", backups 1, rollback 7 for 0 at 0.5, 0.0 back 0.5, 0.1 back 0.5"
	)
	for _, c := range []struct {
		name    string
		v       verdict
		history string
		want    string
	}{
		{"nothing happens", verdict{}, "", ""},
		{"wrong bits", verdict{bits: "other"}, "", "WRONG BITS"},
		{"no report", verdict{code: 2}, "none", "no report"},
		{"killed before it began", verdict{code: -1, deed: deed{gone: true}}, "none", ""},
		{"another code in the report", verdict{code: 7}, "code 3", "in the report 3"},
		{"a kill", verdict{}, "fired 0.1, 0.1 injected 0.2", ""},
		{"a death without a kill", verdict{}, "0.1 injected 0.2", "false alarm"},
		{"a death by itself", verdict{}, "0.1 exit 0.2", "false alarm"},
		{"stopped", verdict{deed: deed{stopped: set("0.1")}}, "0.1 fenced 0.2", ""},
		{"not stopped", verdict{}, "0.1 fenced 0.2", "false alarm"},
		{"killed from outside", verdict{deed: deed{killed: set("0.1")}}, "0.1 signal 0.2", ""},
		{"killed, and nobody says so", verdict{deed: deed{killed: set("0.1")}}, "", "nobody says so"},
		{"two verdicts", verdict{}, "fired 0.1, fired 0.1, 0.1 injected 0.2, 0.1 injected 0.3", "two verdicts"},
		{"a joiner dies", verdict{replace: true}, "fired 0.1, fired 0.1, 0.1 injected 0.2, 0.1 injected 0.3", ""},
		{"replaced alive", verdict{replace: true}, "0.1 back 0.3", "while it lived"},
		{"a kill that is not said to be missed", verdict{}, "missed 0.1", "never reached"},
		{"a kill that was missed", verdict{stderr: "warning: -kill 0.1@section:1 was never reached"}, "missed 0.1", ""},
		{"a rank lost, and not seen", verdict{}, rank0, "lost all replicas"},
		{"a rank lost after it had finished", verdict{stderr: " 0.1 has finished\n"}, rank0, ""},
		{"a rank lost", verdict{code: 3}, rank0 + ", says " + lost0, ""},
		{"a rank lost that lives", verdict{code: 3}, "fired 0.1, 0.1 injected 0.2, says " + lost0, "1 replicas of rank 0 live"},
		{"another one was the last", verdict{code: 3}, "fired 0.0, fired 0.1, 0.1 injected 0.4, 0.0 injected 0.5, says " + lost0, "the last one to die was 0.0"},
		{"nothing said", verdict{code: 3}, rank0 + ", says oops", "no rank is named"},
		{"not said aloud", verdict{code: 3}, rank0 + ", whispers " + lost0, "standard error does not say"},
		{"not said why it did not come back", verdict{code: 3, replace: true}, rank0 + ", says " + lost0, "does not say why"},
		{"replacements died on the way back", verdict{code: 3, replace: true, backup: true}, "fired 0.0, fired 0.1, fired 0.1, 0.0 injected 0.3, 0.1 injected 0.4, backups 1, rollback 7 for 0 at 0.45, 0.1 back 0.45, 0.1 injected 0.5, says " + notBack + "its replacements died too", ""},
		{"none has died", verdict{code: 3, replace: true, backup: true}, rank0 + ", backups 1, says " + notBack + "its replacements died too", "no replacement died"},
		{"no backup asked for", verdict{code: 3, replace: true}, rank0 + ", says " + notBack + "no backup was asked for", ""},
		{"one was asked for", verdict{code: 3, replace: true, backup: true}, rank0 + ", says " + notBack + "no backup was asked for", "one was asked for"},
		{"no backup yet", verdict{code: 3, replace: true, backup: true}, rank0 + ", says " + notBack + "no backup was complete yet", ""},
		{"there was one", verdict{code: 3, replace: true, backup: true}, rank0 + ", backups 2, says " + notBack + "no backup was complete yet", "2 were complete"},
		{"no spare left", verdict{code: 3, spares: 1, backup: true}, rank0 + ", backups 1, takes, says " + notBack + "no process is left to take its place", ""},
		{"a spare left", verdict{code: 3, spares: 2, backup: true}, rank0 + ", backups 1, takes, says " + notBack + "no process is left to take its place", "1 of 2 spares"},
		{"a program left", verdict{code: 3, replace: true, backup: true}, rank0 + ", backups 1, says " + notBack + "no process takes its place: x", "there was a program to be started"},
		{"another reason", verdict{code: 3, replace: true}, rank0 + ", says " + notBack + "of the weather", "does not know"},
		{"back", verdict{replace: true, backup: true}, goBack + ", over", ""},
		{"back without a loss", verdict{replace: true, backup: true}, "fired 0.1, 0.1 injected 0.2, rollback 7 for 0 at 0.5, over", "1 of 2 replicas had died"},
		{"the backup lost on the way", verdict{code: 3, replace: true, backup: true}, goBack + ", fired 1.0, 1.0 injected 0.6, says " + onWay, ""},
		{"nobody died on the way", verdict{code: 3, replace: true, backup: true}, goBack + ", fired 1.0, 1.0 injected 0.4, says " + onWay, "died before"},
		{"the way was over", verdict{code: 3, replace: true, backup: true}, goBack + ", over, fired 1.0, 1.0 injected 0.6, says " + onWay, "had come back"},
		{"the job did not go back", verdict{code: 3, replace: true, backup: true}, "fired 1.0, 1.0 injected 0.6, says " + onWay, "did not go back"},
		{"wrong, and nothing said", verdict{bits: "other", corrupt: &corruption{dual: true}}, "turned 0.1@task:4", "WRONG BITS"},
		{"masked", verdict{corrupt: &corruption{dual: true}}, "turned 0.1@task:4", ""},
		{"escaped from a sample", verdict{bits: "other", corrupt: &corruption{samples: true}}, "turned 0.1@task:4", ""},
		{"a message does not", verdict{bits: "other", corrupt: &corruption{samples: true}}, "turned 0.1@message:4", "WRONG BITS"},
		{"convicted without a backup", verdict{bits: "other", corrupt: &corruption{samples: true}}, "turned 0.1@task, convicted 0.1, 0.1 fenced 0.2 convicted of", ""},
		{"convicted with one", verdict{bits: "other", replace: true, backup: true, corrupt: &corruption{samples: true}}, "turned 0.1@task, convicted 0.1, 0.1 fenced 0.2 convicted of", "WRONG BITS"},
		{"back for it", verdict{replace: true, backup: true, corrupt: &corruption{samples: true}}, "turned 0.1@task, convicted 0.1, 0.1 fenced 0.2 convicted of, backups 1, rollback 7 for - at 0.2, over, for 0.1", ""},
		{"back for another one", verdict{replace: true, backup: true, corrupt: &corruption{samples: true}}, "turned 0.1@task, convicted 0.1, 0.1 fenced 0.2 convicted of, backups 1, rollback 7 for - at 0.2, over, for 0.0", "which was not convicted"},
		{"the other replica had died", verdict{bits: "other", corrupt: &corruption{dual: true}}, "fired 0.0, 0.0 injected 0.1, turned 0.1@task", ""},
		{"fenced for nothing", verdict{corrupt: &corruption{dual: true}}, "turned 0.1@task, 0.1 fenced 0.2 convicted of", "false alarm"},
		{"convicted for nothing", verdict{corrupt: &corruption{dual: true}}, "convicted 0.1, 0.1 fenced 0.2 convicted of", "nothing was wrong"},
		{"the right one convicted", verdict{corrupt: &corruption{dual: true}}, "turned 0.1@task, convicted 0.0, 0.0 fenced 0.2 convicted of", "false conviction of 0.0"},
		{"what a message has made wrong", verdict{degrees: []int{2, 3}, corrupt: &corruption{state: true}}, "turned 0.1@message:3, convicted 1.0, 1.0 fenced 0.2 convicted of", ""},
		{"one of two is not convicted for that", verdict{corrupt: &corruption{state: true}}, "turned 0.1@message:3, convicted 1.0, 1.0 fenced 0.2 convicted of", "false conviction of 1.0"},
		{"what a task that was not compared has made wrong", verdict{degrees: []int{2, 3}, corrupt: &corruption{samples: true, apart: true}}, "turned 0.1@task, convicted 1.1, 1.1 fenced 0.2 convicted of", ""},
		{"in the same rank", verdict{degrees: []int{3}, corrupt: &corruption{samples: true, apart: true}}, "turned 0.1@task, convicted 0.2, 0.2 fenced 0.2 convicted of", ""},
		{"a task that was compared", verdict{degrees: []int{2, 3}, corrupt: &corruption{dual: true}}, "turned 0.1@task, convicted 1.1, 1.1 fenced 0.2 convicted of", "false conviction of 1.1"},
		{"a task whose result is everywhere", verdict{degrees: []int{2, 3}, corrupt: &corruption{samples: true}}, "turned 0.1@task, convicted 1.1, 1.1 fenced 0.2 convicted of", "false conviction of 1.1"},
		{"with a backup", verdict{degrees: []int{2, 3}, backup: true, corrupt: &corruption{samples: true, apart: true}}, "turned 0.1@task, convicted 1.1, 1.1 fenced 0.2 convicted of", "false conviction of 1.1"},
		{"a message, and no other rank", verdict{degrees: []int{3}, corrupt: &corruption{state: true}}, "turned 0.1@message, convicted 0.2, 0.2 fenced 0.2 convicted of", "false conviction of 0.2"},
		{"not repaired", verdict{corrupt: &corruption{dual: true}}, "turned 0.1@task, differed 2 1", "1 of 2 differences"},
		{"back in doubt", verdict{replace: true, backup: true, corrupt: &corruption{state: true}}, "turned 0.1@state:3, backups 1, rollback 7 for - at 0.2, over, doubt 0", ""},
		{"back in doubt of nothing", verdict{replace: true, backup: true, corrupt: &corruption{state: true}}, "backups 1, rollback 7 for - at 0.2, over, doubt 0", "nothing was wrong"},
		{"others in the places of all", verdict{replace: true, backup: true, corrupt: &corruption{state: true}}, "turned 0.1@state:3, backups 1, rollback 7 for - at 0.2, over, doubt 0, 0.0 fenced 0.3 the state of its rank at safe point 8", ""},
		{"and of another rank", verdict{replace: true, backup: true, corrupt: &corruption{state: true}}, "turned 0.1@state:3, backups 1, rollback 7 for - at 0.2, over, doubt 1, 0.0 fenced 0.3 the state of its rank at safe point 8", "false alarm"},
		{"it cannot be told", verdict{code: 4, corrupt: &corruption{dual: true}}, "turned 0.1@task, says silent corruption, found by 0.0: x", ""},
		{"it cannot be told, of nothing", verdict{code: 4, corrupt: &corruption{dual: true}}, "says silent corruption, found by 0.0: x", "nothing was wrong"},
		{"something else", verdict{code: 4, corrupt: &corruption{dual: true}}, "turned 0.1@task, says oops", "exit code 4: oops"},
		{"there was a backup", verdict{code: 4, backup: true, replace: true, corrupt: &corruption{dual: true}}, "turned 0.1@task, backups 1, says silent corruption, found by 0.0: x", "though there was a backup"},
		{"it came again", verdict{code: 4, backup: true, replace: true, corrupt: &corruption{dual: true}}, "turned 0.1@task, backups 1, rollback 7 for - at 0.2, over, doubt 0, says silent corruption, found by 0.0: x", ""},
		{"the program fails of it", verdict{code: 1, corrupt: &corruption{samples: true}}, "turned 0.1@task, 0.0 panic 0.4, 0.1 panic 0.5, says rank 0 has lost its last replica 0.1 at 0.500 s (panic: x)", ""},
		{"the program fails, with a backup", verdict{code: 1, backup: true, replace: true, corrupt: &corruption{samples: true}}, "turned 0.1@task, backups 1, 0.0 panic 0.4, 0.1 panic 0.5, says rank 0 has lost its last replica 0.1 at 0.500 s (panic: x)", "though there was a backup"},
		{"interrupted", verdict{code: 130, deed: deed{interrupted: true}}, "", ""},
		{"not interrupted", verdict{code: 130}, "", "exit code 130"},
		{"the program failed", verdict{code: 1}, "", "exit code 1, and nothing was wrong"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := c.v
			if v.degrees == nil {
				v.degrees = []int{2, 2}
			}
			v.want = "same"
			if v.bits == "" {
				v.bits = "same"
			}
			v.read(t, c.history)
			if got := v.judge(); c.want == "" {
				require.Empty(t, got)
			} else {
				require.Contains(t, got, c.want)
			}
		})
	}
}

// After a rollback because of an error, the right output follows the earlier, possibly
// wrong output.
func TestOutputPrintedAgain(t *testing.T) {
	for rollbacks, want := range map[string]string{"": "{1}\n{2}", "[{}]": "{1}\n{2}", `[{"differed":[1]}]`: "{2}", `[{"convicted":"0.1"}]`: "{2}"} {
		v := &verdict{}
		if rollbacks != "" {
			v.report = new(report)
			require.NoError(t, json.Unmarshal([]byte(`{"rollbacks":`+rollbacks+`}`), v.report))
		}
		require.Equal(t, want, v.last("{1}\n{2}\n"), rollbacks)
		require.Equal(t, "{1}", v.last("{1}\n"))
	}
}

func set(p string) map[job.Process]bool {
	one, err := job.ParseProcess(p)
	if err != nil {
		panic(err)
	}
	return map[job.Process]bool{one: true}
}

// read makes the report that the text of a history describes.
func (v *verdict) read(t *testing.T, history string) {
	type object = map[string]any
	all := map[string][]any{}
	sdc := object{"convicted": []any{}}
	r := object{"exit_code": v.code, "sdc": sdc}
	history, text, said := strings.Cut(history, "says ")
	if !said {
		history, text, _ = strings.Cut(history, "whispers ")
	}
	if r["error"] = text; said {
		v.stderr += text
	}
	for line := range strings.SplitSeq(history, ",") {
		w := strings.Fields(line)
		switch {
		case len(w) == 0:
		case w[0] == "none":
			return
		case w[0] == "code":
			r["exit_code"] = json.Number(w[1])
		case w[0] == "fired", w[0] == "missed":
			all["kills"] = append(all["kills"], object{"process": w[1], "when": "section:1", "fired": w[0] == "fired"})
		case w[0] == "backups":
			r["backup"] = object{"complete": json.Number(w[1])}
		case w[0] == "takes":
			v.stderr += "a spare process on x takes the place of 0.1\n"
		case w[0] == "rollback":
			back := object{"safe_point": json.Number(w[1]), "lost": []any{}, "at_seconds": json.Number(w[5])}
			if w[3] != "-" {
				back["lost"] = []any{json.Number(w[3])}
			}
			all["rollbacks"] = append(all["rollbacks"], back)
		case w[0] == "for":
			all["rollbacks"][len(all["rollbacks"])-1].(object)["convicted"] = w[1]
		case w[0] == "doubt":
			all["rollbacks"][len(all["rollbacks"])-1].(object)["differed"] = []any{json.Number(w[1])}
		case w[0] == "turned":
			all["flips"] = append(all["flips"], object{"spec": strings.Replace(w[1], "@task", map[bool]string{true: "@task", false: ",q=0.1"}[strings.Contains(w[1], ":")], 1), "fired": true})
		case w[0] == "convicted":
			sdc["convicted"] = append(sdc["convicted"].([]any), object{"process": w[1]})
		case w[0] == "differed":
			sdc["differed"], sdc["repaired"] = json.Number(w[1]), json.Number(w[2])
		case w[0] == "over":
			all["rollbacks"][len(all["rollbacks"])-1].(object)["seconds"] = 0.1
		case w[1] == "back":
			all["replacements"] = append(all["replacements"], object{"process": w[0], "joined_seconds": json.Number(w[2])})
		default:
			all["failures"] = append(all["failures"], object{"process": w[0], "cause": w[1], "at_seconds": json.Number(w[2]), "detail": strings.Join(w[3:], " ") + " "})
		}
	}
	for name, list := range all {
		r[name] = list
	}
	b, err := json.Marshal(r)
	require.NoError(t, err)
	v.report = new(report)
	require.NoError(t, json.Unmarshal(b, v.report), "%s", b)
}
