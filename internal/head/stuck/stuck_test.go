package stuck

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

const after = 30 * time.Second

func proc(t testing.TB, name string) job.Process {
	p, err := job.ParseProcess(name)
	require.NoError(t, err)
	return p
}

// waits returns a process that has waited for a long time.
func waits(t testing.TB, name string, all ...job.Wait) Process {
	return Process{Process: proc(t, name), Doing: &job.Doing{State: job.StateRuns, Blocked: true, Idle: after, Waits: all}}
}

func runs(t testing.TB, name string) Process {
	return Process{Process: proc(t, name), Doing: &job.Doing{State: job.StateRuns, Idle: time.Hour}}
}

func finished(t testing.TB, name string) Process {
	return Process{Process: proc(t, name), Finished: true, Doing: &job.Doing{State: job.StateFinished}}
}

func in(p Process, s job.State) Process { p.Doing.State = s; return p }

func recv(line int, ranks ...int) job.Wait {
	return job.Wait{Call: "Recv", At: fmt.Sprintf("heat.go:%d", line), Ranks: ranks}
}

func barrier(line int, ranks ...int) job.Wait {
	return job.Wait{Call: "Barrier", At: fmt.Sprintf("heat.go:%d", line), Ranks: ranks}
}

func anyOf(line int, ranks ...int) job.Wait {
	w := recv(line, ranks...)
	w.One = true
	return w
}

func TestFind(t *testing.T) {
	own := job.Wait{Call: "section", At: "heat.go:9"}
	point := job.Wait{Call: "SafePoint", At: "heat.go:9"}
	tag := 7
	tagged := recv(41, 1)
	tagged.Tag = &tag
	moving := recv(41, 1)
	moving.Moving = true
	for _, c := range []struct {
		name string
		all  []Process
		want string
	}{
		{"nobody", nil, ""},
		{"two ranks wait for each other", []Process{waits(t, "0.0", recv(41, 1)), waits(t, "1.0", barrier(57, 0))},
			"deadlock: 0 waits in Recv from 1 (heat.go:41), 1 waits in Barrier for 0 (heat.go:57)"},
		{"with tags", []Process{waits(t, "0.0", tagged), waits(t, "1.0", recv(2, 0))},
			"deadlock: 0 waits in Recv from 1 tag 7 (heat.go:41), 1 waits in Recv from 0 (heat.go:2)"},
		{"for itself", []Process{waits(t, "0.0", recv(1, 0)), runs(t, "1.0")}, "deadlock: 0 waits in Recv from 0 (heat.go:1)"},
		{"with replicas", []Process{waits(t, "0.0", recv(41, 1)), waits(t, "0.1", recv(41, 1)), waits(t, "1.0", recv(57, 0)), waits(t, "1.1", recv(57, 0))},
			"deadlock: 0 waits in Recv from 1 (heat.go:41), 1 waits in Recv from 0 (heat.go:57); 2 other processes wait for these"},
		{"a replica computes", []Process{waits(t, "0.0", recv(41, 1)), runs(t, "0.1"), waits(t, "1.0", recv(57, 0))}, ""},
		{"a ring", []Process{waits(t, "2.0", recv(3, 0)), waits(t, "0.0", recv(1, 1)), waits(t, "1.0", recv(2, 2))},
			"deadlock: 0 waits in Recv from 1 (heat.go:1), 1 waits in Recv from 2 (heat.go:2), 2 waits in Recv from 0 (heat.go:3)"},
		{"a long computation", []Process{waits(t, "0.0", recv(41, 1)), runs(t, "1.0")}, ""},
		{"a chain that ends in a cycle", []Process{waits(t, "0.0", recv(1, 1)), waits(t, "1.0", recv(2, 2)), runs(t, "2.0")}, ""},
		{"others compute", []Process{runs(t, "0.0"), waits(t, "1.0", recv(1, 2)), waits(t, "2.0", recv(2, 1)), waits(t, "3.0", barrier(3, 0))},
			"deadlock: 1 waits in Recv from 2 (heat.go:1), 2 waits in Recv from 1 (heat.go:2)"},
		{"one has waited only briefly", []Process{waits(t, "0.0", recv(41, 1)),
			{Process: proc(t, "1.0"), Doing: &job.Doing{Blocked: true, Idle: after - 1, Waits: []job.Wait{recv(57, 0)}}}}, ""},
		{"one is stopped or unreachable", []Process{waits(t, "0.0", recv(41, 1)), {Process: proc(t, "1.0")}}, ""},
		{"a rank that is being replaced", []Process{waits(t, "0.0", recv(41, 1))}, ""},
		{"a message is on its way", []Process{waits(t, "0.0", moving), waits(t, "1.0", barrier(57, 0))}, ""},
		{"a wait for a finished rank", []Process{waits(t, "0.0", recv(41, 1)), finished(t, "1.0"), runs(t, "2.0")},
			"deadlock: 0 waits in Recv from 1 (heat.go:41), and 1 has finished"},
		{"a wait for a rank that waits for a finished one", []Process{waits(t, "0.0", recv(41, 1)), waits(t, "1.0", recv(42, 2)), finished(t, "2.0")},
			"deadlock: 0 waits in Recv from 1 (heat.go:41), 1 waits in Recv from 2 (heat.go:42), and 2 has finished"},
		{"a wait for any of several, one of which computes", []Process{waits(t, "0.0", anyOf(1, 1, 2)), waits(t, "1.0", recv(2, 0)), runs(t, "2.0")}, ""},
		{"a wait for any of several, none of which can go on", []Process{waits(t, "0.0", anyOf(1, 1, 2)), waits(t, "1.0", recv(2, 0)), finished(t, "2.0")},
			"deadlock: 0 waits in Recv from any of 2 ranks (heat.go:1), 1 waits in Recv from 0 (heat.go:2)"},
		{"a wait for all of several, one of which computes", []Process{waits(t, "0.0", barrier(1, 1, 2)), waits(t, "1.0", recv(2, 0)), runs(t, "2.0")},
			"deadlock: 0 waits in Barrier for 1, 2 (heat.go:1), 1 waits in Recv from 0 (heat.go:2)"},
		{"the wait of another goroutine can end", []Process{waits(t, "0.0", recv(1, 1), recv(2, 2)), waits(t, "1.0", recv(3, 0)), runs(t, "2.0")}, ""},
		{"in a section, a replica computes", []Process{in(waits(t, "0.0", own), job.StateSection), runs(t, "0.1")}, ""},
		{"in a section, alone", []Process{in(waits(t, "0.0", own), job.StateSection)}, ""},
		{"in a section, a replica waits elsewhere", []Process{in(waits(t, "0.0", own), job.StateSection), waits(t, "0.1", recv(4, 1)), waits(t, "1.0", recv(5, 0))},
			"deadlock: 0.0 waits in section for 0.1 (heat.go:9), 0.1 waits in Recv from 1 (heat.go:4), 1 waits in Recv from 0 (heat.go:5)"},
		{"in a safe point, others come", []Process{in(waits(t, "0.0", point), job.StateSafePoint), runs(t, "1.0")}, ""},
		{"in a safe point, all are there", []Process{in(waits(t, "0.0", point), job.StateSafePoint), in(waits(t, "1.0", point), job.StateSafePoint)}, ""},
		{"in a safe point, one has finished", []Process{in(waits(t, "0.0", point), job.StateSafePoint), finished(t, "1.0")}, ""},
		{"in a safe point, one waits", []Process{in(waits(t, "0.0", point), job.StateSafePoint), waits(t, "1.0", recv(5, 0))},
			"deadlock: 0 waits in SafePoint for 1 (heat.go:9), 1 waits in Recv from 0 (heat.go:5)"},
		{"in a safe point, another replica of the rank waits", []Process{waits(t, "0.0", recv(4, 1)), in(waits(t, "0.1", point), job.StateSafePoint), waits(t, "1.0", recv(5, 0))},
			"deadlock: 0 waits in Recv from 1 (heat.go:4), 1 waits in Recv from 0 (heat.go:5); another process waits for these"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			if d := Find(c.all, after); d != nil {
				got = d.String()
				require.True(t, Candidate(c.all, after))
			}
			require.Equal(t, c.want, got)
		})
	}
}

// Replicas of a rank that can never go on are blocked at the same call, unless they have
// diverged.
func TestReplicasApart(t *testing.T) {
	point := job.Wait{Call: "SafePoint", At: "heat.go:9"}
	sent := func(p Process, n uint64) Process { p.Doing.Sent = n; return p }
	other := waits(t, "1.0", recv(57, 0))
	for _, c := range []struct {
		name string
		all  []Process
		want string
	}{
		{"at the same place", []Process{sent(waits(t, "0.0", recv(41, 1)), 3), sent(waits(t, "0.1", recv(41, 1)), 3), other}, ""},
		{"goroutines listed in another order", []Process{waits(t, "0.0", recv(41, 1), recv(42, 1)), waits(t, "0.1", recv(42, 1), recv(41, 1)), other}, ""},
		{"one can go on", []Process{waits(t, "0.0", recv(41, 0)), runs(t, "0.1"), waits(t, "1.0", recv(57, 1)), waits(t, "1.1", recv(57, 1))}, ""},
		{"in different calls", []Process{waits(t, "0.0", recv(41, 1)), waits(t, "0.1", recv(43, 1)), other},
			"0.0 never leaves Recv from 1 (heat.go:41), and 0.1 never Recv from 1 (heat.go:43)"},
		{"in a safe point", []Process{in(waits(t, "0.1", point), job.StateSafePoint), waits(t, "0.0", recv(41, 1)), other},
			"0.0 never leaves Recv from 1 (heat.go:41), and 0.1 never SafePoint (heat.go:9)"},
		{"one rolls back", []Process{waits(t, "0.0", recv(41, 1)), in(waits(t, "0.1", recv(43, 1)), job.StateBack), other}, ""},
		{"after different numbers of messages", []Process{sent(waits(t, "0.0", recv(41, 1)), 3), sent(waits(t, "0.1", recv(41, 1)), 4), other},
			"0.0 never leaves Recv from 1 (heat.go:41), where it has sent 3 messages and 0.1 has sent 4"},
		{"one has finished", []Process{waits(t, "0.0", recv(41, 1)), finished(t, "0.1"), other, finished(t, "1.1")},
			"0.0 never leaves Recv from 1 (heat.go:41), but 0.1 has finished"},
		{"one waits for another that computes", []Process{waits(t, "0.0", recv(41, 1)), finished(t, "0.1"), runs(t, "1.0"), finished(t, "1.1")}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			if d := Find(c.all, after); d != nil && d.Apart != nil {
				got = d.Apart.Text
				require.Equal(t, proc(t, "0.0"), d.Apart.Process)
			}
			require.Equal(t, c.want, got)
		})
	}
}

// Find returns exactly the processes that wait only for each other. The test finds them in a
// second, simple way: it lets processes continue in random order until none can.
func TestFindAgreesWithASimulation(t *testing.T) {
	found := 0
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 21))
		ranks := 2 + rng.IntN(5)
		var all []Process
		for rank := range ranks {
			for replica := range 1 + rng.IntN(2) {
				name := fmt.Sprintf("%d.%d", rank, replica)
				switch rng.IntN(10) {
				case 0:
					all = append(all, runs(t, name))
				case 1:
					all = append(all, finished(t, name))
				default:
					w := recv(rank, rng.IntN(ranks))
					for range rng.IntN(2) {
						w.Ranks = append(w.Ranks, rng.IntN(ranks))
					}
					w.One = rng.IntN(2) == 0
					all = append(all, waits(t, name, w))
				}
			}
		}
		gone := make(map[job.Process]bool) // processes that have gone on
		rankGone := func(rank int) bool {
			for p := range gone {
				if p.Rank == rank {
					return true
				}
			}
			return false
		}
		for range 10 * len(all) * len(all) {
			p := all[rng.IntN(len(all))]
			if p.Finished {
				continue
			}
			ok := len(p.Doing.Waits) == 0
			if !ok {
				w := p.Doing.Waits[0]
				n := 0
				for _, r := range w.Ranks {
					if rankGone(r) {
						n++
					}
				}
				ok = n == len(w.Ranks) || w.One && n > 0
			}
			if ok {
				gone[p.Process] = true
			}
		}
		stuck := 0
		for _, p := range all {
			if !p.Finished && !gone[p.Process] {
				stuck++
			}
		}
		d := Find(all, after)
		if d == nil {
			require.Zero(t, stuck, "seed %d", seed)
			continue
		}
		found++
		require.Equal(t, stuck, len(d.Links)+d.Others, "seed %d: %v", seed, d)
		for i, l := range d.Links { // every link waits for the next one
			next := d.Ends
			if i+1 < len(d.Links) {
				next = d.Links[i+1].Rank
			} else if d.Ends < 0 {
				next = d.Links[0].Rank
			}
			require.Contains(t, l.Wait.Ranks, next, "seed %d: %v", seed, d)
		}
	}
	require.Greater(t, found, 200)
}
