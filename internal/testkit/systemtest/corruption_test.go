//go:build system

package systemtest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/affinity"
	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/testkit/jobtest"
	"github.com/intrahpc/intra/internal/testkit/simseed"
)

// corrupted is the part of a report about wrong results.
type corrupted struct {
	SDC   runreport.Corruption `json:"sdc"`
	Flips []runreport.Flip     `json:"flips"`
}

// verified runs a program under -sdc. It removes from its output the times, and lines that
// may have been wrong: a job that rolls back prints such lines again.
func verified(t *testing.T, flags string, program []string) (jobtest.Result, corrupted) {
	t.Helper()
	r := jobtest.Run(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: strings.Fields(flags), Program: program})
	var c corrupted
	r.Decode(t, &c)
	if r.Code == 0 {
		lines := strings.Split(strings.TrimSpace(r.Stdout), "\n")
		if len(lines) > 1 {
			require.Contains(t, r.Stderr, "the job rolls back to safe point", r.Stdout)
		}
		r.Stdout = timeless(t, lines[len(lines)-1])
	}
	return r, c
}

// timeless removes times from the output of a program.
func timeless(t *testing.T, stdout string) string {
	t.Helper()
	var all map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(stdout), &all))
	for _, times := range []string{"seconds", "mflops", "threads"} {
		delete(all, times)
	}
	text, err := json.Marshal(all)
	require.NoError(t, err)
	return string(text)
}

// wrongPrograms returns the programs in which errors are injected.
func wrongPrograms(t *testing.T) map[string][]string {
	return map[string][]string{
		"hpccg": append([]string{hpccg(t)}, strings.Fields("-nx 6 -ny 5 -nz 4 -iters 30 -json")...),
		"gtc":   append([]string{binaries.Program(t, "examples/gtc")}, strings.Fields("-mpsi 10 -mthetamax 40 -steps 2 -json")...),
	}
}

// One bit of the output of any task is flipped. If all tasks are verified, the error and
// its process are found, and no bit of the result differs, even if another replica dies
// before. If a share of the tasks is verified, either the error is found or the task was
// not in that share. INTRA_CORRUPTION sets the number of such jobs.
func TestCorruption(t *testing.T) {
	jobs := simseed.Environment(t, "INTRA_CORRUPTION", uint64(jobtest.Count(8, 12)))
	for name, program := range wrongPrograms(t) {
		t.Run(name, func(t *testing.T) {
			r, c := verified(t, "-n 2 -sdc dual", program)
			require.Zero(t, r.Code, r.Stderr)
			require.Zero(t, c.SDC.Differed)
			want, each := r.Stdout, c.SDC.Compared/2 // number of tasks of a process
			escaped := 0
			for seed := simseed.Environment(t, "INTRA_SEED", 0); seed < jobs/2; seed++ {
				rng := rand.New(rand.NewPCG(seed, 19))
				wrong := job.Process{Rank: rng.IntN(2), Replica: rng.IntN(2)}
				task := rng.Int64N(each)
				sampled := seed%3 == 1
				if sampled {
					task /= 2 // the process runs only half of the tasks that are not sampled
				}
				flip := fmt.Sprintf("%v@task:%d", wrong, task)
				flags := "-n 2 -sdc dual -fault flip:" + flip
				switch {
				case seed%3 == 2: // the other replica of the rank dies before that
					flags += fmt.Sprintf(" -kill %v@task:%d", job.Process{Rank: wrong.Rank, Replica: 1 - wrong.Replica}, task-rng.Int64N(min(task+1, 30)))
				case sampled:
					flags = "-n 2 -sdc sample=40% -sched static -fault flip:" + flip
				case seed%2 == 0:
					flags += " -replace"
				default:
					flags += " -r 3 -threads 2"
				}
				r, c := verified(t, flags, program)
				require.Zero(t, r.Code, "%s\n%s", flags, r.Stderr)
				require.Equal(t, []runreport.Flip{{Spec: flip, Fired: true}}, c.Flips, flags)
				if sampled && c.SDC.Differed == 0 {
					escaped++
					continue
				}
				require.Equal(t, want, r.Stdout, flags)
				require.EqualValues(t, 1, c.SDC.Differed, "%s: %s", flags, r.Report)
				require.EqualValues(t, 1, c.SDC.Repaired, "%s: %s", flags, r.Report)
				require.Len(t, c.SDC.Blamed, 1, flags)
				require.Equal(t, wrong, c.SDC.Blamed[0].Process, flags)
			}
			t.Logf("%d jobs, %d wrong results were in tasks not sampled", jobs/2, escaped)
		})
	}
}

// A core that errs repeatedly is found, and another process does its work. If not all of
// its tasks were verified, earlier errors remain. They are the same on all replicas with
// the static schedule, because then no task runs on two replicas by chance.
func TestDefectiveCore(t *testing.T) {
	program := wrongPrograms(t)["hpccg"]
	want, _ := verified(t, "-n 2 -sdc dual", program)
	for _, flags := range []string{"-sdc dual -fault defect:1.0,q=0.02", "-sdc dual -r 3 -fault defect:1.2,q=0.3", "-sdc dual -fault defect:0.1,q=1", "-sdc sample=10% -sched static -fault defect:1.1,q=0.05"} {
		r, c := verified(t, "-n 2 -replace "+flags, program)
		require.Zero(t, r.Code, "%s\n%s", flags, r.Stderr)
		require.Len(t, c.SDC.Blamed, 1, flags)
		require.Equal(t, c.SDC.Differed, c.SDC.Repaired, flags)
		require.Contains(t, r.Stderr, "has computed a wrong result of task", flags)
		if strings.Contains(flags, "dual") {
			require.Equal(t, want.Stdout, r.Stdout, flags)
		}
		require.Len(t, r.Summary(t).Failures, 1, flags)
	}
}

// With a backup the errors of a defective core are undone, even in tasks that were not
// compared. All processes roll back to a point at which the core had not erred yet, and
// print later output again. They also do so if other processes die during the rollback.
func TestDefectiveCoreAndBackup(t *testing.T) {
	for name, program := range wrongPrograms(t) {
		want, _ := verified(t, "-n 2 -sdc dual", program)
		for i, flags := range []string{
			"-backup 3", "-backup 2 -direct off", "-backup auto -link tcp -direct off", "-backup 1 -threads 2", "-backup 2 -sched static",
			"-backup 3 -r 3", "-backup 2 -kill 0.1@backup:abort", "-backup 2 -kill 1.0@backup:abort", "-backup 1 -kill 1.0@backup:ready", "-backup 2 -fault defect:0.0,q=0.2", // a process that seldom errs may err only in tasks that are not compared
		} {
			if !jobtest.Matrix() && (i%2 == 0) != (name == "hpccg") {
				continue // each set of flags runs with one of the programs
			}
			t.Run(name+" "+flags, func(t *testing.T) {
				r, c := verified(t, "-n 2 -replace -sdc sample=40% -fault defect:1.1,q=0.05 "+flags, program)
				printed := r.Stderr + string(r.Report)
				require.Zero(t, r.Code, printed)
				require.Equal(t, want.Stdout, r.Stdout, printed)
				require.NotEmpty(t, c.SDC.Blamed, printed)
				var after struct{ Rollbacks []runreport.Rollback }
				r.Decode(t, &after)
				if len(after.Rollbacks) > 0 { // otherwise the process was found while all tasks were compared
					require.NotNil(t, after.Rollbacks[0].Blamed, printed)
				}
			})
		}
	}
}

// Two replicas insist on different results, so the job ends with exit code 4 and reports
// both hashes.
func TestCorruptionThatCannotBeRepaired(t *testing.T) {
	r, c := verified(t, "-sdc dual -fault flip:0.1@task:4:9 -fault flip:0.1@task:16:9", wrongPrograms(t)["hpccg"])
	require.Equal(t, 4, r.Code, r.Stderr)
	require.Regexp(t, `silent corruption: the results of task \d+ in section \d+ differ, and it cannot be told whose is wrong \(replica 0: `, r.Stderr)
	require.Empty(t, c.SDC.Blamed)
	require.Greater(t, c.SDC.Differed, c.SDC.Repaired)
}

// A wrong message is found by the other replicas of its sender, for any share of sampled tasks,
// unless a consequence of the message is found first. Without an error nothing is found.
func TestWrongMessage(t *testing.T) {
	program := wrongPrograms(t)["hpccg"]
	jobs, found := simseed.Environment(t, "INTRA_CORRUPTION", 6), 0
	for seed := range jobs {
		flags := []string{"-n 2 -sdc sample", "-n 2 -sdc dual", "-n 2 -r 3 -sdc sample", "-n 3 -sdc sample -link tcp", "-n 2 -sdc sample -replace -kill 1.0@task:40", "-degrees 2,1 -sdc sample"}[seed%6]
		r, c := verified(t, flags, program)
		require.Zero(t, r.Code, "%s\n%s", flags, r.Stderr)
		require.Zero(t, c.SDC.Differed, flags)

		flip := fmt.Sprintf("0.1@message:%d", seed*7%20)
		r, c = verified(t, flags+" -fault flip:"+flip, program)
		require.Equal(t, 4, r.Code, "%s -fault flip:%s\n%s", flags, flip, r.Stderr)
		require.Equal(t, []runreport.Flip{{Spec: flip, Fired: true}}, c.Flips)
		if strings.Contains(r.Stderr, "intrarun: divergence, found by") {
			continue // the hash arrives with the next acknowledgement
		}
		if strings.Contains(flags, "-n 3") && !strings.Contains(r.Stderr, "silent corruption, found by 0.") {
			require.Regexp(t, "the replicas of rank [12] have sent message ", r.Stderr, "what was made of it has gone on, and was found first")
			continue
		}
		found++
		require.Regexp(t, `silent corruption: the replicas of rank 0 have sent message \d+ \(tag \d+, \d+ bytes\) to rank \d with different contents \(replica 0: [0-9a-f]{16}, replica 1: `, r.Stderr)
		require.Greater(t, c.SDC.Differed, c.SDC.Repaired)
		if strings.Contains(flags, "-r 3") {
			require.Len(t, c.SDC.Blamed, 1, r.Stderr)
			require.Equal(t, job.Process{Replica: 1}, c.SDC.Blamed[0].Process)
			require.Contains(t, r.Stderr, "0.1 on ")
			require.Contains(t, r.Stderr, "has sent a wrong message ")
		}
	}
	require.Positive(t, found)
}

// A wrong message makes the state of one replica of three wrong. The error spreads through
// shared tasks to the other two, which are the majority. Then the job ends because of the
// message, or because of a divergence that the message has caused.
func TestWrongMessageBeforeAMajority(t *testing.T) {
	program := wrongPrograms(t)["hpccg"]
	want, _ := verified(t, "-n 2 -sdc dual", program)
	for i := range jobtest.Count(4, 10) {
		flags := fmt.Sprintf("-n 2 -r 3 -sdc state -fault flip:0.0@message:%d%s", 3*i%20, []string{"", " -link tcp"}[i%2])
		if r, _ := verified(t, flags, program); r.Code == 0 {
			require.Equal(t, want.Stdout, r.Stdout, "%s\n%s", flags, r.Stderr)
		} else {
			require.Equal(t, 4, r.Code, "%s\n%s", flags, r.Stderr)
			require.Regexp(t, "with different contents|replicas diverged", r.Stderr, flags) // whichever error is found first
		}
	}
}

// A wrong message makes one of three replicas compute wrong results, in tasks that read
// the wrong data through a pointer. The replica is blamed and killed. The message is found
// as well.
func TestWrongMessageBesideABlamedProcess(t *testing.T) {
	program, blamed := wrongPrograms(t)["gtc"], 0
	for i := range 9 {
		flip := fmt.Sprintf("0.0@message:%d", []int{14, 15, 22}[i%3])
		flags := "-degrees 2,3 -replace -sdc dual -fault flip:" + flip
		r, c := verified(t, flags, program)
		require.Equal(t, []runreport.Flip{{Spec: flip, Fired: true}}, c.Flips)
		if len(c.SDC.Blamed) == 0 {
			continue
		}
		blamed++
		require.Equal(t, 4, r.Code, "%s\n%s", flags, r.Stderr)
		require.Regexp(t, "with different contents|replicas diverged", r.Stderr, flags) // whichever error is found first
	}
	require.Positive(t, blamed)
}

// The last replica of its rank reports its received messages before it judges a task by
// itself, while the ring of a link is full. The link must send even though the waiting
// goroutine has promised to poll.
func TestHashesAreSentOverAFullRing(t *testing.T) {
	jobtest.NeedMatrix(t, "its job takes half a minute on one processor")
	flags := strings.Fields("-degrees 3,3,2 -link shm -ring 4K -bind none -spares 1 -backup 3 -sdc sample=40% -seed 545 " +
		"-fault flip:1.2@message:206 -fault defect:0.2,q=0.05 -kill 0.0@join:ask -kill 0.1@join:ask -kill 0.2@join:ask")
	usable, err := affinity.Usable()
	require.NoError(t, err)
	for range 4 { // before the fix, one of four runs succeeded on one processor
		r := jobtest.Run(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: flags, Deadline: 5 * time.Minute, Prefix: []string{"taskset", "-c", fmt.Sprint(usable[0][0])},
			Program: []string{binaries.Program(t, "examples/hpccg"), "-nx", "10", "-ny", "10", "-nz", "10", "-iters", "211", "-json"}})
		require.Contains(t, []int{0, 3}, r.Code, r.Stderr) // a second replacement may find no spare
	}
}

// A wrong message makes the program of its receiver fail. The job ends, or rolls back,
// because of the message and not because of the failure.
func TestWrongMessageThatMakesAProgramFail(t *testing.T) {
	program := []string{binaries.Program(t, "examples/gtc"), "-mpsi", "12", "-mthetamax", "32", "-mzetamax", "4", "-micell", "2", "-steps", "2", "-json"}
	want, _ := verified(t, "-n 2 -sdc dual", program)
	failed := 0
	for i, flags := range []string{"-degrees 2,3 -replace -sdc dual", "-n 2 -sdc dual", "-n 2 -r 3 -sdc state", "-degrees 3,2 -sdc sample", "-n 2 -sdc sample -link tcp", "-n 2 -replace -backup 1 -sdc dual"} {
		for _, bit := range []int{0, 3} { // bits of the number of particles that follow
			flags := fmt.Sprintf("%s -seed %d -fault flip:0.1@message:10:%d", flags, i, bit)
			r, c := verified(t, flags, program)
			require.Equal(t, []runreport.Flip{{Spec: fmt.Sprintf("0.1@message:10:%d", bit), Fired: true}}, c.Flips)
			pattern := "with different contents"
			if strings.Contains(flags, "-backup") { // all processes may roll back before the other replica of the sender reaches the message
				pattern += "|a wrong result may have led to that, and the job rolls back to a backup"
			}
			require.Regexp(t, pattern, r.Stderr, flags)
			if strings.Contains(r.Stderr, "message longer than the receive buffer") {
				failed++
			}
			if strings.Contains(flags, "-backup") {
				require.Zero(t, r.Code, "%s\n%s", flags, r.Stderr)
				require.Equal(t, want.Stdout, r.Stdout, "%s\n%s", flags, r.Stderr)
			} else {
				require.Equal(t, 4, r.Code, "%s\n%s", flags, r.Stderr)
			}
			if strings.Contains(flags, "-r 3") {
				require.Len(t, c.SDC.Blamed, 1, r.Stderr)
				require.Equal(t, job.Process{Replica: 1}, c.SDC.Blamed[0].Process)
			}
		}
	}
	require.Positive(t, failed)
}

// One bit of the registered state of any replica is flipped at any safe point. With three
// replicas the others blame that replica. With two the rank rolls back to its last backup.
// No bit of the result differs. Without a backup the job ends with exit code 4 and reports
// both hashes.
func TestWrongState(t *testing.T) {
	jobs := simseed.Environment(t, "INTRA_CORRUPTION", 8)
	for name, program := range wrongPrograms(t) {
		points := map[string]int64{"hpccg": 29, "gtc": 2}[name]
		r, c := verified(t, "-n 2 -sdc state", program)
		require.Zero(t, r.Code, r.Stderr)
		require.Zero(t, c.SDC.Differed)
		require.EqualValues(t, 2*points, c.SDC.Compared)
		want := r.Stdout
		for seed := range jobs / 2 {
			rng := rand.New(rand.NewPCG(seed, 31))
			flags := []string{"-n 2 -sdc state -r 3", "-n 2 -sdc state -backup 1 -replace", "-n 2 -sdc state", "-n 2 -sdc dual,state -r 3 -replace"}[seed%4]
			wrong, point := job.Process{Rank: rng.IntN(2), Replica: rng.IntN(2)}, rng.Int64N(points)
			flip := fmt.Sprintf("%v@state:%d:%d", wrong, point, rng.IntN(4000))
			r, c := verified(t, flags+" -fault flip:"+flip, program)
			require.Equal(t, []runreport.Flip{{Spec: flip, Fired: true}}, c.Flips, flags)
			require.EqualValues(t, 1, c.SDC.Differed, "%s -fault flip:%s: %s\n%s", flags, flip, r.Report, r.Stderr)
			if r.Code == 4 { // a backup may not be complete yet
				require.NotContains(t, flags, "-r 3")
				require.Regexp(t, `silent corruption of rank \d: the registered state at safe point \d+ differs, and it cannot be told whose is wrong \(replica 0: [0-9a-f]{16}, replica 1: [0-9a-f]{16}\).*, and there is no backup to roll back to`, r.Stderr)
				require.Zero(t, c.SDC.Repaired)
				continue
			}
			require.Zero(t, r.Code, "%s -fault flip:%s\n%s", flags, flip, r.Stderr)
			require.Equal(t, want, r.Stdout, "%s -fault flip:%s", flags, flip)
			require.EqualValues(t, 1, c.SDC.Repaired, r.Report)
			if strings.Contains(flags, "-r 3") {
				require.Len(t, c.SDC.Blamed, 1)
				require.Equal(t, wrong, c.SDC.Blamed[0].Process)
				require.EqualValues(t, point+1, c.SDC.Blamed[0].Point)
			} else {
				require.Contains(t, r.Stderr, "intrarun: the job rolls back to safe point ")
			}
		}
	}
}

// A wrong update reaches both ranks before the states are compared, and the states of both
// differ at the same safe point. The job rolls back and no process dies. If the states
// differ again at the same safe point, all replicas of the rank are replaced. If an
// acknowledgement arrives before the safe point, it reveals a message that contains the
// error, and the job ends. Which of the two happens first depends on timing.
func TestStatesThatDiffer(t *testing.T) {
	for _, tt := range []struct {
		name, program, flags string
		backs                int
		fenced               []string
	}{
		{"of both ranks", "gtc", "-sched static -direct off -backup 1 -fault flip:0.0@update:74", 1, nil},
		{"of one rank", "hpccg", "-backup 3 -fault flip:1.1@state:17", 1, nil},
		{"at another safe point", "hpccg", "-backup 1 -fault flip:0.1@state:9 -fault flip:0.0@state:20", 2, nil},
		{"at the same safe point again", "hpccg", "-backup 1 -fault flip:0.0@state:9 -fault flip:0.0@state:10", 2, []string{"0.0", "0.1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			program := wrongPrograms(t)[tt.program]
			want, _ := verified(t, "-n 2 -sdc dual", program)
			run := func() (jobtest.Result, corrupted) {
				return verified(t, "-n 2 -r 2 -sdc state -replace "+tt.flags, program)
			}
			r, c := run()
			for again := 0; again < 20 && r.Code == 4 && strings.Contains(tt.flags, "@update:") && endedByMessage(r); again++ {
				r, c = run()
			}
			printed := r.Stderr + string(r.Report)
			require.Zero(t, r.Code, printed)
			require.Equal(t, want.Stdout, r.Stdout, printed)
			require.EqualValues(t, c.SDC.Differed, c.SDC.Repaired, printed)
			require.GreaterOrEqual(t, c.SDC.Differed, int64(tt.backs), printed)
			var after struct {
				Failures  []runreport.Failure
				Rollbacks []runreport.Rollback
			}
			r.Decode(t, &after)
			require.Len(t, after.Rollbacks, tt.backs, printed)
			var fenced []string
			for _, f := range after.Failures {
				fenced = append(fenced, f.Process.String())
			}
			require.ElementsMatch(t, tt.fenced, fenced, printed)
		})
	}
}

// endedByMessage reports whether the job has ended because replicas have sent a message with
// different contents.
func endedByMessage(r jobtest.Result) bool {
	return regexp.MustCompile(`silent corruption, found by \d\.\d: .* have sent message \d+ .* with different contents`).MatchString(r.Stderr)
}

// A wrong message that no receive has matched at a safe point is not covered by any hash
// of a state there. It is found before a backup holds it. If two new replicas got it from
// a backup, they would not differ.
func TestWrongMessageOnItsWay(t *testing.T) {
	program := append([]string{binaries.Program(t, "internal/testkit/systemtest/attack/mixed")}, strings.Fields("-passes 120 -seed 3")...)
	want, _ := verified(t, "-degrees 2,2", program)
	require.Zero(t, want.Code, want.Stderr)
	for range jobtest.Count(1, 5) {
		r, c := verified(t, "-degrees 2,2 -sched static -ring 4K -spares 4 -backup 1 -sdc state -fault flip:0.0@message:63 -kill 1.0@backup:ready -kill 1.1@backup:ready", program)
		require.Zero(t, r.Code, r.Stderr)
		require.True(t, c.Flips[0].Fired)
		require.Contains(t, r.Stderr, "the replicas of rank 0 have sent message 3 (tag 11, 2392 bytes) to rank 1 with different contents")
		require.Equal(t, want.Stdout, r.Stdout, r.Stderr)
	}
}
