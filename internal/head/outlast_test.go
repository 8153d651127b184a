package head

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/job"
)

// outlasted returns a job of two ranks in which all processes but 0.1 have finished.
func outlasted(t *testing.T, settings ...string) *script {
	s := begun(t, append([]string{"degrees=2,2", "endless=60s"}, settings...)...)
	s.says("0.1", job.Doing{State: job.StateRuns})
	s.commands("said 0.0@2 finish", "said 1.0@2 finish", "said 1.1@2 finish", "keep")
	return s
}

const fencesIt = "kill 0.1@2 SIGKILL"

// If every rank has finished in another replica and the last one makes no progress for a
// while, the head fences it, and the job ends well.
func TestEndlessReplicaIsFenced(t *testing.T) {
	s := outlasted(t)
	require.NotContains(t, s.commands("pass 59s"), fencesIt)
	require.Contains(t, s.commands("pass 1s"), fencesIt)
	out := s.commands("killed 0.1@2", "keep")
	require.Contains(t, out, "warn: 0.1 is dead (fenced: it made no progress for 60.0 s, and every rank has finished in another replica: runs, 0 sections and 0 safe points behind it, for 60.0 s), 1 of 2 replicas of rank 0 left")
	require.Equal(t, ExitOK, s.head.Code())
	require.Equal(t, released, s.head.phase)
}

// The head does not fence a replica that makes any progress. It does not fence a slow one
// either while another rank has not finished.
func TestReplicaThatMakesProgressIsLeftAlone(t *testing.T) {
	for name, progress := range map[string]func(s *script){
		"it counts progress of its own": func(s *script) { s.says("0.1", job.Doing{State: job.StateRuns, Idle: time.Second}) },
		"it writes":                     func(s *script) { s.commands("wrote 0.1@2") },
		"the whole job is stopped meanwhile": func(s *script) {
			s.says("0.1", job.Doing{State: job.StateRuns, Idle: time.Hour})
			s.commands("continued")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := outlasted(t)
			for range 4 {
				require.NotContains(t, s.commands("pass 50s"), fencesIt)
				progress(s)
			}
			require.Contains(t, s.commands("pass 61s", "pass 61s"), fencesIt, "it is fenced once it makes no progress")
		})
	}
	t.Run("another rank has not finished", func(t *testing.T) {
		s := begun(t, "degrees=2,1", "endless=60s")
		require.NotContains(t, s.commands("said 0.0@2 finish", "keep", "pass 2m", "pass 2m"), fencesIt)
		require.Empty(t, s.head.Outlasting())
	})
	t.Run("off", func(t *testing.T) {
		s := outlasted(t, "endless=0s")
		require.NotContains(t, s.commands("pass 2m", "pass 2m"), fencesIt)
		require.Len(t, s.head.Outlasting(), 1, "the status names the process")
	})
	t.Run("it finishes", func(t *testing.T) {
		s := outlasted(t)
		s.commands("pass 59s", "said 0.1@2 finish", "keep")
		require.Equal(t, released, s.head.phase)
		require.NotContains(t, s.commands("pass 2s"), fencesIt)
	})
}

// The idle time of a process counts from the moment at which all other processes had
// finished, and again from its first report to another head.
func TestIdleTimeRestarts(t *testing.T) {
	s := begun(t, "degrees=2,2", "endless=60s")
	s.says("0.1", job.Doing{State: job.StateRuns, Idle: time.Hour})
	s.commands("said 0.0@2 finish", "said 1.0@2 finish", "said 1.1@2 finish", "keep")
	require.NotContains(t, s.commands("pass 59s"), fencesIt)
	all := s.head.Outlasting()
	require.Len(t, all, 1)
	require.Equal(t, at(0, 1), all[0].Process)
	require.Equal(t, 59*time.Second, all[0].Idle)
	s.commands("succeed 2", "joined 0.0@2", "joined 0.1@2", "joined 1.0@2", "joined 1.1@2", "keep")
	require.NotContains(t, s.commands("pass 59s"), fencesIt)
	require.Contains(t, s.commands("pass 2s"), fencesIt)
}

// The head does not fence a process on a host that may soon be declared lost. If such a process
// dies, the head does not replace it, since the job does not need it.
func TestEndlessReplicaOnADoubtfulHost(t *testing.T) {
	s := outlasted(t, "replace")
	doubtful := true
	s.head.config.Doubtful = func(detect.ID) bool { return doubtful }
	require.NotContains(t, s.commands("pass 70s", "pass 1s"), fencesIt)
	doubtful = false
	require.Contains(t, s.commands("pass 1s"), fencesIt)
	s.commands("killed 0.1@2", "keep", "settled 0.1@2", "keep")
	require.Equal(t, released, s.head.phase)
	require.Equal(t, ExitOK, s.head.Code())
}
