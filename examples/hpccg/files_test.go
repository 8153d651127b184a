//go:build !intra

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
	"github.com/intrahpc/intra/internal/testkit/needs"
)

// fileArgs are the arguments of the problem whose files the tests compare.
var fileArgs = strings.Fields("-nx 6 -ny 5 -nz 4 -iters 45 -json")

// outputs holds the names of the files of a job.
type outputs struct{ dir, field, log string }

func newOutputs(t *testing.T) outputs {
	dir := t.TempDir()
	return outputs{dir, filepath.Join(dir, "field"), filepath.Join(dir, "log")}
}

// args returns the arguments of a job that writes both files.
func (o outputs) args() []string {
	return append(fileArgs[:len(fileArgs):len(fileArgs)], "-field", o.field, "-log", o.log)
}

// require compares the files with the output of the job.
func (o outputs) require(t *testing.T, r jobRun, left ...string) {
	t.Helper()
	out, _ := r.sum(t)
	b, err := os.ReadFile(o.field)
	require.NoError(t, err)
	sum := sha256.Sum256(b)
	require.Equal(t, out.XSHA256, hex.EncodeToString(sum[:]))
	var want strings.Builder
	for i, norm := range out.History {
		fmt.Fprintf(&want, "%d %v\n", i+1, float64(norm))
	}
	b, err = os.ReadFile(o.log)
	require.NoError(t, err)
	require.Equal(t, want.String(), string(b))
	all, err := os.ReadDir(o.dir)
	require.NoError(t, err)
	require.Len(t, all, 2+len(left), "the folder has temporary files: %v", all)
}

// The files are those of a run without failures, and no other files remain.
func TestFilesAfterFailures(t *testing.T) {
	for _, flags := range []string{
		"-n 2 -r 1",
		"-n 2 -r 2 -kill 0.0@section:60 -kill 1.1@section:90",
		"-n 1 -r 3 -kill 0.0@task:300 -kill 0.1@section:100",
		"-n 2 -r 2 -replace -kill 0.0@section:50 -kill 1.0@section:90",
		"-n 2 -r 1 -spares 2 -backup 4 -kill 0.0@section:103 -kill 1.0@section:70",
		"-n 2 -r 2 -fault again:0.0@2-12 -fault again:1.1@5-44 -kill 0.1@section:150",
		"-n 2 -r 2 -check",
	} {
		t.Run(flags, func(t *testing.T) {
			o := newOutputs(t)
			r := hpccg(t, flags, o.args()...)
			o.require(t, r)
			r.report.RequireFired(t)
		})
	}
}

// Random schedules of kills: the lowest replica, which writes, dies at any step and is
// replaced. All ranks roll back when both replicas have died.
func TestFilesAfterRandomFailures(t *testing.T) {
	for seed := range uint64(jobtest.Count(2, 200)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 51))
			replicas := 1 + random.IntN(2)
			flags := fmt.Sprintf("-n 2 -r %d -spares 3 -backup %d", replicas, 1+random.IntN(6))
			for range 1 + random.IntN(3) {
				// A backup is complete before the tenth pass.
				flags += fmt.Sprintf(" -kill %d.%d@%s:%d", random.IntN(2), random.IntN(replicas),
					[]string{"section", "message"}[random.IntN(2)], 100+random.IntN(160))
			}
			o := newOutputs(t)
			o.require(t, hpccg(t, flags, o.args()...))
		})
	}
}

// A job ends in the middle, and another one continues from its checkpoint files. It
// truncates the log at the safe point and continues it from there.
func TestFilesAfterRestart(t *testing.T) {
	o, sets := newOutputs(t), t.TempDir()
	r := hpccg(t, "-n 2 -r 1 -checkpoint "+sets+" -checkpoint-every 4 -kill 0.0@section:200", o.args()...)
	require.Equal(t, 3, r.Code, r.Stderr)
	require.FileExists(t, o.log)
	o.require(t, hpccg(t, "-n 2 -r 2 -restart "+sets, o.args()...))
}

// If a file cannot be written, the job fails with an error that names it, also with
// replicas.
func TestFilesThatCannotBeWritten(t *testing.T) {
	for _, flag := range []string{"-field", "-log"} {
		name := filepath.Join(t.TempDir(), "missing", "file")
		r := hpccg(t, "-n 2 -r 2", append(fileArgs[:len(fileArgs):len(fileArgs)], flag, name)...)
		require.Equal(t, 1, r.Code, r.Stderr)
		require.Contains(t, r.Stderr, "no such file or directory")
		require.Contains(t, r.Stderr, name)
	}
}

// On a full disk the job fails with that error. The old field does not change, and the log
// keeps only whole lines.
func TestFullDisk(t *testing.T) {
	const script = `
mount -t tmpfs -o size=8k none "$0"
echo old > "$0/field"
"$1" -quiet -n 2 -r 2 "$2" -nx 20 -ny 20 -nz 10 -iters 12 -json -field "$0/field" > /dev/null && exit 9
cat "$0/field"; ls -A "$0"
"$1" -quiet -n 2 -r 2 "$2" -nx 6 -ny 5 -nz 4 -iters 400 -json -log "$0/log" > /dev/null && exit 9
tail -c 1 "$0/log" | od -An -c; wc -c < "$0/log"`
	mounts := needs.Mounts(t)
	cmd := exec.CommandContext(t.Context(), mounts[0], append(mounts[1:], script, t.TempDir(), binaries.Intrarun(t), binaries.Program(t, folder))...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Run(), "%s", &stderr)
	got := strings.Fields(stdout.String())
	require.Equal(t, []string{"old", "field", `\n`}, got[:3], "%s", &stdout)
	require.NotEqual(t, "0", got[3])
	require.Contains(t, stderr.String(), "/field: no space left on device")
	require.Contains(t, stderr.String(), "/log: no space left on device")
	require.NotContains(t, stderr.String(), "diverged")
}
