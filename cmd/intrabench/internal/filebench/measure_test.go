package filebench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
)

// As a process of a way, the test binary has the arguments of processes.
func TestMain(m *testing.M) {
	if len(os.Args) != 5 || os.Args[1] != "write" {
		os.Exit(m.Run())
	}
	bytes, _ := strconv.ParseInt(os.Args[3], 10, 64)
	j := Job{Name: os.Args[2], Bytes: bytes, Calls: 2}
	var err error
	if rank, e := strconv.Atoi(os.Args[4]); e == nil {
		err = Plain(j, rank, os.Stdin, os.Stdout)
	} else {
		err = intra.Run(context.Background(), intra.Spec{Ranks: Ranks}, func(p *intra.Process) error { return Program(p, j, os.Stdin, os.Stdout) })
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// processes returns the command lines of a way. A job runs in one process.
func processes(w Way, j Job) (all [][]string) {
	line := []string{os.Args[0], "write", j.Name, strconv.FormatInt(j.Bytes, 10)}
	if w.Replicas > 0 {
		return [][]string{append(line, "job")}
	}
	for rank := range Ranks {
		all = append(all, append(line[:len(line):len(line)], strconv.Itoa(rank)))
	}
	return all
}

func TestMeasure(t *testing.T) {
	dirs := []string{t.TempDir(), t.TempDir()}
	var rounds []string
	o := Options{Dirs: dirs, Bytes: 4000, Calls: 2, Rounds: 2, Before: func(what string, round int) { rounds = append(rounds, fmt.Sprint(what, round)) }}
	all, err := Measure(t.Context(), processes, o)
	require.NoError(t, err)
	require.Len(t, rounds, 2*2*len(Ways))
	require.Len(t, all.Files, 2*len(Ways))
	for i, r := range all.Files {
		require.Equal(t, dirs[i/len(Ways)], r.Dir)
		require.Equal(t, Ways[i%len(Ways)].Name, r.Way)
		require.Len(t, r.Times, 2)
		for _, one := range r.Times {
			require.Positive(t, one.Write)
			require.Greater(t, one.Whole, one.Write)
		}
		require.Positive(t, r.Write.MBs.Median)
	}
	for _, dir := range dirs {
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left)
	}
}

func TestMeasureReportsWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	o := Options{Dirs: []string{dir}, Bytes: 4000, Calls: 2, Rounds: 1}
	for name, c := range map[string]struct {
		commands func(Way, Job) [][]string
		want     string
	}{
		"another file":   {func(w Way, j Job) [][]string { j.Bytes = 2000; return processes(w, j) }, "os.File in " + dir + ": .*file0 has the hash .*, want "},
		"a process ends": {func(Way, Job) [][]string { return [][]string{{"true"}} }, "os.File in " + dir + ": "},
		"no program":     {func(Way, Job) [][]string { return [][]string{{"/nowhere"}, {"/nowhere"}} }, "start /nowhere: "},
		"an answer":      {func(Way, Job) [][]string { return [][]string{{"cat"}, {"sh", "-c", "read x; echo yes; cat"}} }, `a plain process printed "yes", want "open"`},
		"no times":       {func(Way, Job) [][]string { return [][]string{{"cat"}} }, `the job printed "write"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Measure(t.Context(), c.commands, o)
			require.Error(t, err)
			require.Regexp(t, c.want, err.Error())
		})
	}
	o.Dirs = []string{filepath.Join(dir, "none")}
	_, err := Measure(t.Context(), processes, o)
	require.ErrorContains(t, err, "make a folder for the files: ")
	require.ErrorContains(t, Plain(Job{}, 0, strings.NewReader("jump\n"), nil), `read "jump": want a step, like write`)
}

// Ratios compare times of the same round.
func TestTable(t *testing.T) {
	times := func(seconds ...float64) (all []Times) {
		for _, s := range seconds {
			all = append(all, Times{Write: s, Whole: 2 * s})
		}
		return all
	}
	all := Results{Files: []*Result{
		{Dir: "/m", Way: "os.File", Bytes: 2e6, Times: times(1, 10, 1)},
		{Dir: "/m", Way: "-r 1", Bytes: 2e6, Times: times(2, 20, 2)},
		{Dir: "/m", Way: "-r 2", Bytes: 2e6, Times: times(4, 40, 4)},
	}}
	all.summarise()
	var out bytes.Buffer
	require.NoError(t, Table(&out, Options{Bytes: 2e6, Calls: 10, Rounds: 3}, all))
	require.Equal(t, `2 ranks write a file of 2 MB, calls of 100000 bytes; 3 rounds in turn: median [quartiles]
the calls that write, without fsync
  folder  way      MB/s     / os.File         / -r 1
  /m      os.File  2 [1 2]  1.00 [1.00 1.00]  2.00 [2.00 2.00]
  /m      -r 1     1 [1 1]  0.50 [0.50 0.50]  1.00 [1.00 1.00]
  /m      -r 2     0 [0 0]  0.25 [0.25 0.25]  0.50 [0.50 0.50]
the whole file: create, write, fsync, rename
  folder  way      MB/s     / os.File         / -r 1
  /m      os.File  1 [1 1]  1.00 [1.00 1.00]  2.00 [2.00 2.00]
  /m      -r 1     0 [0 0]  0.50 [0.50 0.50]  1.00 [1.00 1.00]
  /m      -r 2     0 [0 0]  0.25 [0.25 0.25]  0.50 [0.50 0.50]
`, out.String())
}
