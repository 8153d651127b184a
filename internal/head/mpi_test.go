package head

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

// A job over MPI begins with all its processes in MPI_COMM_WORLD, or does not
// begin.
func TestMPI(t *testing.T) {
	for _, c := range []struct {
		name  string
		hello [2]job.Hello
		says  [2]*job.World // nil: the process dies before it reports
		end   string        // "" if the job begins
		local bool          // MPI makes only the links between hosts
	}{
		{"begins", [2]job.Hello{{MPI: true}, {MPI: true}}, [2]*job.World{{Rank: 1, Library: "Open MPI", File: "f", Level: "L"}, {Rank: 0}}, "", false},
		{"begins with links within the host", [2]job.Hello{{MPI: true}, {MPI: true}}, [2]*job.World{{Rank: 1, Library: "Open MPI", File: "f", Level: "L"}, {Rank: 0}}, "", true},
		{"untagged", [2]job.Hello{{MPI: true}, {}}, [2]*job.World{{Rank: 1}, {Rank: 0}}, "the job is refused: the program was built without the tag mpi: build it with -tags intra,mpi", false},
		{"no library", [2]job.Hello{{MPI: true}, {MPI: true}}, [2]*job.World{{Rank: 1}, {Error: "none"}}, "the job is refused: 0.1 cannot use MPI: none", false},
		{"a death", [2]job.Hello{{MPI: true}, {MPI: true}}, [2]*job.World{{Rank: 1}, nil}, "the job is refused: 0.1 has ended before all processes had joined MPI_COMM_WORLD, and the others would wait for it there", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript(t)
			s.job([]string{"degrees=2"})
			s.config.Setup.MPI, s.config.MPIBetween = true, c.local
			s.head = New(s.config)
			s.proposed, s.agents, s.out = nil, make(agentLogs), nil
			s.step(Begin{})
			s.commands("keep")
			var started []*job.Message
			var made bool
			do := func(e Event) {
				acts := s.head.Step(e, 0)
				s.do(acts)
				for _, a := range acts {
					switch a := a.(type) {
					case Send:
						if a.Message.Kind == job.KindStart {
							started = append(started, a.Message)
						}
					case Link:
						made = true
					}
				}
			}
			for i, f := range s.known() {
				do(Started{From: f, PID: 100})
				hello := c.hello[i]
				hello.PID, hello.Tag = 100, true
				do(Joined{f, &hello})
			}
			for i, f := range s.known() {
				require.Empty(t, started)
				if w := c.says[i]; w != nil {
					do(Said{f, &job.Message{Kind: job.KindWorld, World: w}})
				} else {
					do(Exited{f, exitOf(9, 0)})
				}
			}
			for len(s.proposed) > 0 {
				e := s.proposed[0]
				s.proposed = s.proposed[1:]
				do(Committed{e})
			}
			require.Equal(t, c.local, made, "MPI makes the links, or intrarun")
			require.Equal(t, c.end == "", s.head.hasBegun)
			if c.end != "" {
				require.Contains(t, strings.Join(s.out, "\n"), c.end)
				require.Equal(t, ExitRefused, s.head.Code())
				return
			}
			require.Len(t, started, 2)
			want := [2]job.Peer{{Process: at(0, 1), Incarnation: 1, Link: job.LinkMPI, World: 0}, {Process: at(0, 0), Incarnation: 1, Link: job.LinkMPI, World: 1}}
			if c.local {
				want = [2]job.Peer{{Process: at(0, 1), Incarnation: 1, Link: s.config.Link}, {Process: at(0, 0), Incarnation: 1, Link: s.config.Link}}
			}
			require.Equal(t, want[:1], started[0].Peers)
			require.Equal(t, want[1:], started[1].Peers)
			require.Empty(t, s.head.Summary().MPI.Outside)
		})
	}
}
