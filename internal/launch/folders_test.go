package launch

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/checkpoint"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/job"
)

// What is wrong with the folders is said before anything is started. The one for
// new files is made.
func TestFoldersAreLookedAtFirst(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	missing := filepath.Join(dir, "missing")
	for want, j := range map[string]Job{
		"-restart " + missing + ": stat":                                    {Restart: missing},
		"-restart " + file + ": it is not a folder":                         {Restart: file},
		"-checkpoint " + file + ": it is not a folder":                      {Checkpoint: &head.Checkpoint{Dir: file}},
		"-checkpoint " + filepath.Join(file, "below") + ": stat":            {Checkpoint: &head.Checkpoint{Dir: filepath.Join(file, "below")}},
		"-report " + filepath.Join(missing, "r") + ": stat":                 {Report: filepath.Join(missing, "r")},
		"-report " + filepath.Join(file, "r") + ": " + file + " is not a f": {Report: filepath.Join(file, "r")},
		"-kill 1.0@task:3: the job has no process 1.0":                      {Kills: []job.Kill{{Process: job.Process{Rank: 1}, Point: job.KillTask, Count: 3}}},
	} {
		j.Degrees = []int{1}
		c := Config{Job: j}
		require.ErrorContains(t, c.validate(), want)
	}
	c := Config{Job: Job{Degrees: []int{1}, Checkpoint: &head.Checkpoint{Dir: filepath.Join(dir, "a", "b")}, Restart: dir}}
	require.NoError(t, c.validate())
	require.DirExists(t, filepath.Join(dir, "a", "b"))
}

// Sets are numbered on from those that are there, and a restart needs a set.
func TestWhatIsInTheFolders(t *testing.T) {
	of := checkpoint.Job{Build: "b", Arch: "a", Ranks: 1, Tasks: 16}
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "set-000004"), 0o700))
	found, err := (&Job{Checkpoint: &head.Checkpoint{Dir: dir}}).open(of)
	require.NoError(t, err)
	require.EqualValues(t, 5, found.First)
	require.NotEmpty(t, found.Write.Job.Run)
	of.Run = found.Write.Job.Run
	require.Equal(t, &job.Files{Dir: dir, Job: of}, found.Write)
	require.Nil(t, found.Restart)
	_, err = (&Job{Restart: dir}).open(of)
	require.ErrorContains(t, err, "-restart: ")
}
