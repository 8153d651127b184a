//go:build system

package attack

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/affinity"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

var binaries jobtest.Binaries

func TestMain(m *testing.M) { os.Exit(binaries.Main(m)) }

// few is the default number of jobs.
const few = 10

// deadline bounds a job that normally takes seconds, on a machine with much other work.
const deadline = 90 * time.Second

// TestAttack runs INTRA_ATTACK random jobs, or the job of INTRA_SEED. With both it runs
// INTRA_ATTACK jobs, beginning with that seed. INTRA_CORRUPTION=1 skips jobs without injected
// errors.
func TestAttack(t *testing.T) {
	count, first := few, rand.Uint64()%1_000_000_000
	if s := os.Getenv("INTRA_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		require.NoError(t, err, "INTRA_SEED")
		count, first = 1, n
	}
	if s := os.Getenv("INTRA_ATTACK"); s != "" {
		n, err := strconv.Atoi(s)
		require.NoError(t, err, "INTRA_ATTACK")
		count = n
	}
	only := os.Getenv("INTRA_CORRUPTION") != ""
	var all tally
	for i, seed := 0, first; i < count; seed++ {
		if only && !corrupted(seed) {
			continue
		}
		i++
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			v := newPlan(seed).run(t)
			if n := all.add(v); n%20 == 0 || n == int64(count) {
				fmt.Printf("attack: %d of %d jobs: %v\n", n, count, &all)
			}
		})
	}
}

// tally counts the events in all jobs.
type tally struct{ jobs, deaths, replacements, rollbacks, lost, blamed, escaped atomic.Int64 }

// add counts a job, and returns the number of jobs.
func (a *tally) add(v *verdict) int64 {
	if r := v.report; r != nil {
		a.deaths.Add(int64(len(r.Failures)))
		a.replacements.Add(int64(len(r.Replacements)))
		a.rollbacks.Add(int64(len(r.Rollbacks)))
		a.blamed.Add(int64(len(r.SDC.Blamed)))
	}
	if v.escaped {
		a.escaped.Add(1)
	}
	if v.code != 0 {
		a.lost.Add(1)
	}
	return a.jobs.Add(1)
}

func (a *tally) String() string {
	return fmt.Sprintf("%d deaths, %d replacements, %d rollbacks, %d jobs that ended early, %d processes convicted, %d wrong results where a share is compared",
		a.deaths.Load(), a.replacements.Load(), a.rollbacks.Load(), a.lost.Load(), a.blamed.Load(), a.escaped.Load())
}

// run runs the job, and another one that continues from its files.
func (p *plan) run(t *testing.T) *verdict {
	args := strings.Fields(p.app.args(len(p.degrees)))
	program := append([]string{binaries.Program(t, p.app.folder)}, args...)
	want := reference(t, p.app, len(p.degrees), program)
	if p.removes() {
		program[0] = copied(t, program[0])
	}
	spec := jobtest.Spec{Intrarun: binaries.Intrarun(t), Program: program, Prefix: p.prefix(), Deadline: deadline}
	spec.Flags = append([]string{"-v"}, p.flags...)
	dir := ""
	if p.files > 0 {
		dir = filepath.Join(t.TempDir(), "state")
		spec.Flags = append(spec.Flags, "-checkpoint", dir, "-checkpoint-every", fmt.Sprint(p.files))
	}
	v := &verdict{degrees: p.degrees, replace: p.replace, backup: p.backup, weibull: p.weibull, spares: p.spares, want: want, corrupt: p.corrupt}
	v.run(t, spec, p.seed, p.injections)
	if p.removes() {
		return v
	}
	if sets, _ := filepath.Glob(filepath.Join(dir, "set-*", "index")); dir != "" && len(sets) > 0 {
		q := p.then
		spec.Flags, spec.Prefix = append([]string{"-v", "-restart", dir}, q.flags...), q.prefix()
		w := &verdict{degrees: q.degrees, replace: q.replace, backup: q.backup, spares: q.spares, want: want}
		w.run(t, spec, p.seed, nil)
	}
	return v
}

// prefix returns the command that starts intrarun, if this machine has it.
func (p *plan) prefix() []string {
	usable, err := affinity.Usable()
	if _, missing := exec.LookPath("taskset"); !p.pinned || missing != nil || err != nil || len(usable) == 0 {
		return nil
	}
	return []string{"taskset", "-c", fmt.Sprint(usable[p.seed%uint64(len(usable))][0])}
}

// run runs one job and judges it.
func (v *verdict) run(t *testing.T, spec jobtest.Spec, seed uint64, injections []injection) {
	t.Helper()
	j := jobtest.Start(t, spec)
	v.deed = inject(j, spec.Program[0], injections)
	r, err := j.End()
	if err != nil {
		require.FailNow(t, "FINDING", "INTRA_SEED=%d injections %v\n%v", seed, injections, err)
	}
	if len(r.Report) > 0 {
		v.report = new(report)
		r.Decode(t, v.report)
	}
	v.code, v.stderr, v.bits = r.Code, r.Stderr, ""
	if r.Code == 0 {
		v.bits = bits(v.last(r.Stdout))
	}
	if wrong := v.judge(); wrong != "" {
		require.FailNow(t, "FINDING", "INTRA_SEED=%d\n%s\n%v\ninjections: %v\nexit code %d\n%s", seed, wrong, spec, injections, r.Code, r.Stderr)
	}
}

// inject performs the injections, until the job has ended.
func inject(j *jobtest.Job, program string, injections []injection) (d deed) {
	d.stopped, d.killed = make(map[job.Process]bool), make(map[job.Process]bool)
	began := time.Now()
	for _, b := range injections {
		select {
		case <-j.Ended():
			return d
		case <-time.After(time.Until(began.Add(b.after))):
		}
		switch b.signal {
		case "remove":
			for !strings.Contains(j.Stderr(), "all have joined") { // wait until all first processes were started
				select {
				case <-j.Ended():
					return d
				case <-time.After(time.Millisecond):
				}
			}
			_ = os.Remove(program) // the file may be gone already, because processes are started from a copy of it
			continue
		case "int":
			d.interrupted = syscall.Kill(j.PID(), syscall.SIGINT) == nil
			continue
		case "gone":
			d.gone = syscall.Kill(j.PID(), syscall.SIGKILL) == nil
			continue
		}
		for _, p := range j.Processes() {
			if p.Name != b.victim.String() {
				continue
			}
			switch b.signal {
			case "kill":
				d.killed[b.victim] = true
				_ = syscall.Kill(p.PID, syscall.SIGKILL) // an error means that the process has ended
			default:
				d.stopped[b.victim] = true
				_ = syscall.Kill(p.PID, syscall.SIGSTOP)
				// Wait for the last replica of a rank.
				rest := map[string]time.Duration{"pause": 100 * time.Millisecond, "stop": 3 * time.Second}[b.signal]
				goOn := time.AfterFunc(rest, func() { _ = syscall.Kill(p.PID, syscall.SIGCONT) })
				defer func() {
					<-j.Ended()
					goOn.Stop()
				}()
			}
			break
		}
	}
	return d
}

// copied returns the path of a copy of a file.
func copied(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), filepath.Base(file))
	require.NoError(t, os.WriteFile(path, b, 0o755))
	return path
}

// last returns only the last printed line if the job rolled back because of an error.
// Earlier lines may be wrong, and are printed again.
func (v *verdict) last(stdout string) string {
	stdout = strings.TrimSpace(stdout)
	i := strings.LastIndexByte(stdout, '\n')
	if v.report == nil || i < 0 || !slices.ContainsFunc(v.report.Rollbacks, rollback.wrong) {
		return stdout
	}
	return stdout[i+1:]
}

// bits returns the output of a program without times.
func bits(stdout string) string {
	var all map[string]any
	if err := json.Unmarshal([]byte(stdout), &all); err != nil {
		return fmt.Sprintf("%v: %s", err, stdout)
	}
	delete(all, "seconds")
	b, err := json.Marshal(all)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// references are the bits of jobs without failures.
var references struct {
	sync.Mutex
	bits map[string]string
}

func reference(t *testing.T, a app, ranks int, program []string) string {
	references.Lock()
	defer references.Unlock()
	key := fmt.Sprint(a.folder, a.args(ranks), ranks)
	if _, ok := references.bits[key]; !ok {
		r := jobtest.Run(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: []string{"-n", fmt.Sprint(ranks), "-r", "1"}, Program: program, Deadline: deadline})
		require.Zero(t, r.Code, r.Stderr)
		if references.bits == nil {
			references.bits = make(map[string]string)
		}
		references.bits[key] = bits(r.Stdout)
	}
	return references.bits[key]
}
