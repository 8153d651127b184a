//go:build system

package notices

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// The judge rejects every wrong end.
func TestJudge(t *testing.T) {
	const (
		kept    = "its decisions are kept on a, b and c, and its output\n"
		joined  = "0.0 has joined: process 1 on a\n1.0 has joined: process 2 on b\n"
		agent   = "intrarun: b: intrarun: agent: ended by SIGTERM: it cannot leave: "
		head    = "intrarun: SIGTERM: this host is to leave: it cannot leave: "
		full    = "no other host has a free slot (-hosts)"
		lastSet = "the job ends with a last set of files (SIGTERM to the agent of a host): nowhere to go\n"
		died    = `{"process":"1.0","at_seconds":1,"cause":"host","detail":"host b has not been heard from for 0.7 s"}`
		ofOne   = "rank 1 has lost its last replica 1.0 at 1.000 s (host: x); rank 1 could not be brought back: "
	)
	right := `{"x":1}`
	notified := func(f *facts) { f.notice(observe(kept+joined, f.names), 1, toAgent, f.quiet/3) }
	toTheHead := func(f *facts) { f.notice(observe(kept+joined, f.names), 0, toHead, f.quiet/3) }
	late := func(f *facts) {
		f.notice(observe(kept+joined, f.names), 1, byCommand, f.quiet)
		f.notices[0].denied = "intrarun drain: process 1 is no intrarun of yours that runs a job from this host"
	}
	taken := func(f *facts) { f.take(observe(kept+joined, f.names), 1) }
	both := func(f *facts) { notified(f); taken(f) }
	for _, c := range []struct {
		name   string
		do     func(f *facts)
		code   int
		said   string
		stdout string
		report string // "": none
		want   string // "": no objection
	}{
		{"nothing happens", nil, 0, "", right, `{}`, ""},
		{"other bits", nil, 0, "", `{"x":2}`, `{}`, "WRONG BITS"},
		{"no result", nil, 0, "", "", `{}`, "printed 0 times"},
		{"the result twice", nil, 0, "", right + "\n" + right, `{}`, "printed 2 times"},
		{"another code in the report", nil, 0, "", right, `{"exit_code":3}`, "in the report 3"},
		{"a host leaves", notified, 0, "", right, `{"drains":[{"host":"b"}]}`, ""},
		{"a host leaves without a notice", nil, 0, "", right, `{"drains":[{"host":"b"}]}`, "without a notice"},
		{"a host leaves, and the job rolls back", notified, 0, "", right, `{"rollbacks":[{"lost":[1]}]}`, "1 replicas lived"},
		{"a host leaves, and the job is lost", notified, 3, "", "", `{"exit_code":3,"failures":[` + died + `],"error":"` + ofOne + `no backup was complete yet"}`, "false alarm"},
		{"it is taken away too early", both, 3, "", "", `{"exit_code":3,"failures":[` + died + `],"error":"` + ofOne + `no backup was complete yet"}`, ""},
		{"it is taken away, and a backup was complete", both, 3, "the first backup is complete", "", `{"exit_code":3,"failures":[` + died + `],"error":"` + ofOne + `no backup was complete yet"}`, "one was complete"},
		{"it is taken away, and held all backups", both, 3, "the first backup is complete", "", `{"exit_code":3,"failures":[` + died + `],"error":"` + ofOne + `all processes that held the last backup of rank 1 are dead"}`, "only one of these was lost"},
		{"it is taken away, and there was room", both, 3, "", "", `{"exit_code":3,"failures":[` + died + `],"error":"` + ofOne + `no process takes its place: no other host has a free slot"}`, "slots were there"},
		{"the rank lives", both, 3, "", "", `{"exit_code":3,"error":"` + ofOne + `no backup was complete yet"}`, "1 replicas of that rank live"},
		{"no reason", taken, 3, "", "", `{"exit_code":3,"error":"x"}`, "that is no reason"},
		{"another host dies", taken, 0, "", right, `{"failures":[{"process":"0.0","cause":"host","detail":"host a has not been heard from"}]}`, "false alarm"},
		{"a process dies", taken, 0, "", right, `{"failures":[{"process":"0.0","cause":"signal"}]}`, "false alarm"},
		{"refused, with room", notified, 0, agent + full, right, `{}`, "slots were free"},
		{"refused in the middle", notified, 0, agent + "its rank has reached no safe point yet, or a rank has finished", right, `{}`, "after the start"},
		{"refused for an unknown reason", notified, 0, agent + "x", right, `{}`, "does not know this reason"},
		{"refused by the head, with room", toTheHead, 143, head + full, "", `{"exit_code":143}`, "slots were free"},
		{"refused by its successor", toTheHead, 143, "b is the new head, in place of the one on a, which has handed over\n" + head + full, "", `{"exit_code":143}`, ""},
		{"a command for a job that has ended", late, 0, "", right, `{}`, ""},
		{"interrupted, with room", notified, 7, lastSet, "", `{"exit_code":7}`, "free slots elsewhere"},
		{"interrupted without a notice", nil, 7, lastSet, "", `{"exit_code":7}`, "without a notice"},
		{"interrupted in silence", func(f *facts) { f.schedule.slots = 1; notified(f) }, 7, "", "", `{"exit_code":7}`, "does not say why"},
		{"interrupted", func(f *facts) { f.schedule.slots, f.schedule.hosts = 1, 2; notified(f) }, 7, lastSet, "", `{"exit_code":7}`, ""},
		{"ended by a notice", nil, 143, head + full, "", `{"exit_code":143}`, "exit code 143"},
		{"handed over in silence", nil, 6, "", right, `{}`, "was not to leave"},
		{"no head", notified, -1, "", "", "", "killed, and not by this test"},
		{"no head, and most are there", func(f *facts) { f.behead(observe(kept+joined, f.names)) }, -1, "", "", "", "were there"},
		{"no head, and most are gone", func(f *facts) { taken(f); f.take(observe(kept+joined, f.names), 0) }, -1, "", "", "", ""},
		{"the head gives up", taken, 3, "", "", `{"exit_code":3,"error":"this head gives up: x"}`, "were there"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &facts{names: []string{"a", "b", "c"}, quiet: 3e9, schedule: schedule{hosts: 3, slots: 2, degrees: []int{1, 1}, replace: true, backup: true, files: true}}
			f.places = observe(kept+joined, f.names).places
			if c.do != nil {
				c.do(f)
			}
			e := &end{code: c.code, first: kept + joined + c.said + "\n", stdout: c.stdout}
			if c.report != "" {
				e.report = new(report)
				require.NoError(t, json.Unmarshal([]byte(c.report), e.report))
			}
			if got := f.judge(e, bits(right)); c.want == "" {
				require.Empty(t, got)
			} else {
				require.Contains(t, got, c.want)
			}
		})
	}
}
