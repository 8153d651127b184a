package output

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

// A process takes over from a live one, which ends later. Every line is written once. The end
// of a process that was to take over, and has not, changes nothing.
func TestProcessThatRelievesALiveOne(t *testing.T) {
	for _, degree := range []int{1, 2} {
		var s screen
		console := NewConsole(&s, &s)
		of := NewRank(console, 0, degree)
		end := func(p *Process) {
			p.Write(Crashes, nil)
			for _, kind := range []Stream{Stdout, Stderr} {
				p.Write(kind, nil)
			}
			p.Finish(true, false)
		}
		old := NewProcess(job.Process{}, of)
		old.Write(Stdout, []byte("one\n"))
		end(NewMuted(job.Process{}, of))
		old.Write(Stdout, []byte("two\nthr"))
		next := NewMuted(job.Process{}, of)
		next.Resume(old.Position(), 0)
		end(old)
		next.Write(Stdout, []byte("ee\nfour\n"))
		require.Equal(t, "one\ntwo\nthree\nfour\n", s.String())
	}
}
