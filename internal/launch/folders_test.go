package launch

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/job"
)

// An error of the folders is reported before any process is started. The folder
// for new files is created.
func TestFoldersAreCheckedFirst(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	missing := filepath.Join(dir, "missing")
	for want, j := range map[string]Job{
		"-restart " + missing + ": stat":                         {Folders: Folders{Restart: missing}},
		"-restart " + file + ": it is not a folder":              {Folders: Folders{Restart: file}},
		"-checkpoint " + file + ": it is not a folder":           {Folders: Folders{Checkpoint: &head.Checkpoint{Dir: file}}},
		"-checkpoint " + filepath.Join(file, "below") + ": stat": {Folders: Folders{Checkpoint: &head.Checkpoint{Dir: filepath.Join(file, "below")}}},
		"-kill 1.0@task:3: the job has no process 1.0":           {Faults: Faults{Kills: []job.Kill{{Process: job.Process{Rank: 1}, Point: job.KillTask, Count: 3}}}},
	} {
		j.Degrees = []int{1}
		c := Config{Job: j}
		require.ErrorContains(t, c.validate(), want)
	}
	c := Config{Job: Job{Degrees: []int{1}, Folders: Folders{Checkpoint: &head.Checkpoint{Dir: filepath.Join(dir, "a", "b")}, Restart: dir}}}
	require.NoError(t, c.validate())
	require.DirExists(t, filepath.Join(dir, "a", "b"))
}

// New sets are numbered after the existing ones, and a restart needs a set.
func TestContentsOfTheFolders(t *testing.T) {
	of := checkpoint.Job{Build: "b", Arch: "a", Ranks: 1, Tasks: 16}
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "set-000004"), 0o700))
	found, err := (&Folders{Checkpoint: &head.Checkpoint{Dir: dir}}).open(of)
	require.NoError(t, err)
	require.EqualValues(t, 5, found.First)
	require.NotEmpty(t, found.Write.Job.Run)
	of.Run = found.Write.Job.Run
	require.Equal(t, &job.Files{Dir: dir, Job: of}, found.Write)
	require.Nil(t, found.Restart)
	_, err = (&Folders{Restart: dir}).open(of)
	require.ErrorContains(t, err, "-restart: ")
}

// A job continues from a set of its own program and arguments or, on request, from a set of
// another one. It continues the run of that set. A new build of the program is noted.
func TestRestartContinuesARun(t *testing.T) {
	dir := t.TempDir()
	of := checkpoint.Job{Build: "b", Arch: "a", Ranks: 1, Tasks: 16, Program: "p", Args: checkpoint.EncodeArgs([]string{"-nx", "64"}),
		Run: "2026-01-02T03:04:05Z-1"}
	x := 1.5
	var state checkpoint.State
	require.NoError(t, state.Add("x", &x))
	im, err := state.Image()
	require.NoError(t, err)
	f, err := checkpoint.Write(t.Context(), dir, checkpoint.Header{Job: of, Set: 3, Cut: 9}, nil, im)
	require.NoError(t, err)
	require.NoError(t, (&checkpoint.Set{Job: of, Number: 3, Cut: 9, Files: []checkpoint.File{f}}).Complete(dir))

	now := of
	now.Build, now.Run = "built anew", ""
	for _, restart := range []string{dir, filepath.Join(dir, "set-000003")} {
		found, err := (&Folders{Restart: restart, Checkpoint: &head.Checkpoint{Dir: dir}}).open(now)
		require.NoError(t, err)
		require.True(t, found.Restart.Rebuilt)
		require.Equal(t, dir, found.Restart.Dir)
		require.Equal(t, of, found.Restart.Job)
		require.Equal(t, of.Run, found.Write.Job.Run)
		require.Equal(t, "built anew", found.Write.Job.Build)
		require.EqualValues(t, 4, found.First)
	}

	now.Args = checkpoint.EncodeArgs([]string{"-nx", "32"})
	_, err = (&Folders{Restart: dir}).open(now)
	require.ErrorIs(t, err, checkpoint.ErrArguments)
	require.ErrorContains(t, err, "it was made with `-nx 64`, this job has `-nx 32`")
	require.ErrorContains(t, err, "-restart-anyway continues from it nevertheless")
	_, err = (&Folders{Checkpoint: &head.Checkpoint{Dir: dir}}).open(now)
	require.ErrorContains(t, err, "choose another directory")
	found, err := (&Folders{Restart: dir, Anyway: true, Checkpoint: &head.Checkpoint{Dir: dir}}).open(now)
	require.NoError(t, err)
	require.EqualValues(t, 3, found.Restart.Number)
	require.Equal(t, now.Args, found.Write.Job.Args)
}

// After a head has handed over, the folder still belongs to the job: its processes write to it,
// and the next head takes it. Once the job has ended, another job may take it.
func TestFolderIsHandedOver(t *testing.T) {
	dir := t.TempDir()
	j := Job{Folders: Folders{Checkpoint: &head.Checkpoint{Dir: dir}}}
	first, err := j.holdFolder()
	require.NoError(t, err)
	first.release(ExitHandedOver)
	process, err := checkpoint.Share(dir, j.Folders.Owner)
	require.NoError(t, err)
	next := j.inheritFolder()
	require.NoError(t, next.hold(dir))
	process.Release()
	next.release(ExitOK)
	other, err := (&Job{Folders: Folders{Checkpoint: &head.Checkpoint{Dir: dir}}}).holdFolder()
	require.NoError(t, err)
	other.release(ExitOK)
}
