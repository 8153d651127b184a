//go:build system

package files

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
	"github.com/intrahpc/intra/internal/testkit/simseed"
)

var binaries jobtest.Binaries

func TestMain(m *testing.M) { os.Exit(binaries.Main(m)) }

// few is the default number of jobs.
const few = 6

// deadline bounds a job that normally takes a second, on a machine with much other work.
const deadline = 4 * time.Minute

// TestFiles runs INTRA_FILES random jobs, beginning with that of INTRA_SEED.
func TestFiles(t *testing.T) {
	count, first := simseed.Environment(t, "INTRA_FILES", few), simseed.Environment(t, "INTRA_SEED", 0)
	var all tally
	for seed := first; seed < first+count; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			newPlan(seed).run(t, &all)
			if n := all.jobs.Add(1); n%20 == 0 || n == int64(count) {
				fmt.Printf("files: %d of %d jobs: %v\n", n, count, &all)
			}
		})
	}
}

// A job continues from a set older than the last one. The versions of its files that the first job
// began after that set are removed.
func TestRestartFromAnOlderSet(t *testing.T) {
	a := apps[1]
	want, dir, sets := reference(t, a, 1), t.TempDir(), filepath.Join(t.TempDir(), "sets")
	spec := jobtest.Spec{Intrarun: binaries.Intrarun(t), Program: append([]string{binaries.Program(t, a.folder)}, a.args(dir)...), Deadline: deadline,
		Flags: []string{"-n", "1", "-r", "1", "-checkpoint", sets, "-checkpoint-every", "3", "-kill", "0.0@section:20"}}
	r := jobtest.Run(t, spec)
	require.Equal(t, 3, r.Code, r.Stderr)
	all, err := filepath.Glob(filepath.Join(sets, "set-*"))
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.NoError(t, os.RemoveAll(all[1]))
	spec.Flags = []string{"-n", "1", "-r", "1", "-restart", sets}
	r = jobtest.Run(t, spec)
	require.Zero(t, r.Code, r.Stderr)
	require.Empty(t, want.differs(t, dir, r.Stdout))
}

// tally counts the events of all jobs.
type tally struct{ jobs, deaths, inFiles, replacements, rollbacks, second, lost, restarts atomic.Int64 }

func (a *tally) String() string {
	return fmt.Sprintf("%d deaths, %d of them in a call of package file, %d replacements, %d rollbacks, %d second runs, %d jobs that ended early, %d of them continued",
		a.deaths.Load(), a.inFiles.Load(), a.replacements.Load(), a.rollbacks.Load(), a.second.Load(), a.lost.Load(), a.restarts.Load())
}

func (a *tally) add(r *jobtest.Report) {
	a.deaths.Add(int64(len(r.Failures)))
	a.replacements.Add(int64(len(r.Replacements)))
	a.rollbacks.Add(int64(len(r.Rollbacks)))
	for _, p := range r.Processes {
		a.second.Add(int64(len(p.SecondRuns)))
	}
	for _, k := range r.Kills {
		if k.Fired && strings.HasPrefix(k.When, "file:") {
			a.inFiles.Add(1)
		}
	}
}

// run runs the job. If the job has ended early, run also runs one that continues from its
// checkpoint files.
func (p *plan) run(t *testing.T, all *tally) {
	want := reference(t, p.app, p.ranks)
	dir, sets := t.TempDir(), filepath.Join(t.TempDir(), "sets")
	spec := jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: append([]string{"-v"}, p.flags...),
		Program: append([]string{binaries.Program(t, p.app.folder)}, p.app.args(dir)...), Deadline: deadline}
	if p.saves {
		spec.Flags = append(spec.Flags, "-checkpoint", sets, "-checkpoint-every", "3")
	}
	j := jobtest.Start(t, spec)
	killed := p.strike(j, filepath.Join(dir, p.app.log))
	r := j.Wait(t)
	printed := fmt.Sprintf("INTRA_SEED=%d\n%v\nsignals: %v\nexit code %d\n%s", p.seed, r.Spec, p.signals, r.Code, r.Stderr)
	if s := r.Summary(t); s != nil {
		all.add(s)
	}
	if r.Code == 0 {
		require.Empty(t, want.differs(t, dir, r.Stdout), printed)
		return
	}
	all.lost.Add(1)
	if !killed {
		require.Equal(t, 3, r.Code, printed)
		require.Regexp(t, "has lost its last replica|cannot go back", r.Stderr, printed)
	}
	require.Empty(t, want.broken(t, p.app, dir), printed)
	if indexes, _ := filepath.Glob(filepath.Join(sets, "set-*", "index")); len(indexes) == 0 {
		return
	}
	all.restarts.Add(1)
	spec.Flags = append([]string{"-v", "-restart", sets}, p.then...)
	r = jobtest.Run(t, spec)
	printed += fmt.Sprintf("\ncontinued: %v\nexit code %d\n%s", r.Spec, r.Code, r.Stderr)
	require.Zero(t, r.Code, printed)
	require.Empty(t, want.differs(t, dir, r.Stdout), printed)
}

// strike sends the signals while the log grows, until the job has ended. It reports
// whether intrarun was killed.
func (p *plan) strike(j *jobtest.Job, log string) bool {
	slices.SortStableFunc(p.signals, func(a, b signal) int { return a.pass - b.pass })
	for _, s := range p.signals {
		for {
			b, _ := os.ReadFile(log) // the file may not exist yet
			if bytes.Count(b, []byte("\n")) >= s.pass {
				break
			}
			select {
			case <-j.Ended():
				return false
			case <-time.After(2 * time.Millisecond):
			}
		}
		time.Sleep(s.after)
		if s.victim == "intrarun" {
			select {
			case <-j.Ended():
				return false
			default:
				return syscall.Kill(j.PID(), syscall.SIGKILL) == nil
			}
		}
		for _, one := range j.Processes() {
			if one.Rank && one.Name == s.victim {
				_ = syscall.Kill(one.PID, syscall.SIGKILL) // an error means that the process has ended
			}
		}
	}
	return false
}

// outputs are the files and the printed results of a job without failures.
type outputs struct {
	files  map[string][]byte
	result string
}

// references are the outputs of jobs without failures.
var references struct {
	sync.Mutex
	all map[string]*outputs
}

func reference(t *testing.T, a app, ranks int) *outputs {
	references.Lock()
	defer references.Unlock()
	key := fmt.Sprint(a.folder, ranks)
	if o, ok := references.all[key]; ok {
		return o
	}
	o := plainOutputs(t, a, ranks)
	if references.all == nil {
		references.all = make(map[string]*outputs)
	}
	references.all[key] = o
	return o
}

// plainOutputs runs a job without failures, with one replica of each rank.
func plainOutputs(t *testing.T, a app, ranks int) *outputs {
	dir := t.TempDir()
	r := jobtest.Run(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: []string{"-n", fmt.Sprint(ranks), "-r", "1"},
		Program: append([]string{binaries.Program(t, a.folder)}, a.args(dir)...), Deadline: deadline})
	require.Zero(t, r.Code, r.Stderr)
	o := &outputs{files: contents(t, dir), result: results(t, r.Stdout)}
	if r.Stdout == "" {
		return o
	}
	var out struct {
		XSHA256 string `json:"x_sha256"`
	}
	require.NoError(t, json.Unmarshal([]byte(r.Stdout), &out))
	sum := sha256.Sum256(o.files["field"])
	require.Equal(t, out.XSHA256, hex.EncodeToString(sum[:]))
	return o
}

// results returns what a job printed, without the time.
func results(t *testing.T, stdout string) string {
	if stdout == "" {
		return ""
	}
	var all map[string]any
	require.NoError(t, json.Unmarshal([]byte(stdout), &all), stdout)
	delete(all, "seconds")
	b, err := json.Marshal(all)
	require.NoError(t, err)
	return string(b)
}

// contents reads all files of a folder.
func contents(t *testing.T, dir string) map[string][]byte {
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	all := make(map[string][]byte)
	for _, e := range list {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		all[e.Name()] = b
	}
	return all
}

// differs returns how the files and results of a job that ended well differ from those of
// a job without failures.
func (o *outputs) differs(t *testing.T, dir, stdout string) (wrong []string) {
	if got := results(t, stdout); got != o.result {
		wrong = append(wrong, fmt.Sprintf("it printed %s, want %s", got, o.result))
	}
	got := contents(t, dir)
	for name, b := range got {
		if _, ok := o.files[name]; !ok {
			wrong = append(wrong, fmt.Sprintf("file %s of %d bytes is left", name, len(b)))
		}
	}
	for name, want := range o.files {
		if b, ok := got[name]; !ok {
			wrong = append(wrong, fmt.Sprintf("file %s is missing", name))
		} else if !bytes.Equal(b, want) {
			wrong = append(wrong, fmt.Sprintf("file %s has %d bytes, want %d; they differ from byte %d on", name, len(b), len(want), common(b, want)))
		}
	}
	return wrong
}

// broken returns errors in the files of a job that ended early. A created file must have
// all of its bytes. A file that grows must have the bytes of a job without failures up to
// its last call, which some ranks may not have made.
func (o *outputs) broken(t *testing.T, a app, dir string) (wrong []string) {
	for name, b := range contents(t, dir) {
		want, ok := o.files[name]
		grows := slices.ContainsFunc(a.grown, func(pattern string) bool { m, _ := path.Match(pattern, name); return m })
		switch {
		case strings.HasPrefix(name, "."): // -restart may need the file
		case !ok:
			wrong = append(wrong, fmt.Sprintf("file %s of %d bytes is none of the program", name, len(b)))
		case grows && len(b)-common(b, want) > a.call:
			wrong = append(wrong, fmt.Sprintf("file %s has %d bytes, which differ from byte %d on", name, len(b), common(b, want)))
		case !grows && len(b) != len(want):
			wrong = append(wrong, fmt.Sprintf("file %s has %d bytes, want %d", name, len(b), len(want)))
		}
	}
	return wrong
}

// common returns the length of the common prefix.
func common(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}
