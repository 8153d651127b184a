//go:build linux

package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/intrahpc/intra/internal/base/counters"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/launch"
	"github.com/intrahpc/intra/internal/recovery"
)

var recoveryFlags = []row{
	{name: "replace", group: losses, common: true,
		does: "Replace each lost process by a new one, which joins at a safe point of the program with the state of a live replica.",
		set:  toggle(func(o *options) *bool { return &o.Replace })},
	{name: "spares", group: losses, arg: "N", off: []string{"0"},
		does: "Keep N processes waiting, on hosts with free slots, to replace lost ones at once. A host that joins the running job gets new ones for those that were used.",
		set:  number(func(o *options) *int { return &o.Spares }, 0, maxProcesses, "processes")},
	{name: "backup", group: losses, common: true, arg: "K",
		does:  "Copy the state of each rank into the memory of another rank every K safe points, or with auto as often as it pays. When a rank has lost all its replicas, the job rolls back to the copy.",
		set:   parsed(recovery.ParsePolicy, func(o *options, p recovery.Policy) { o.Backup = p }),
		needs: []need{{any: []string{"replace", "spares"}, why: "a rank that has lost all its replicas continues in new processes"}},
		excludes: []clash{{with: oneRank, why: "another rank has to hold the copy",
			cure: "leave out -backup, or give -n 2 or more"}}},
	{name: "checkpoint", group: losses, common: true, arg: "DIR",
		does: "Write the state of the job at safe points to files in DIR, which all hosts share, in the background. The last two sets of files stay.",
		set:  word(func(o *options) *string { return &o.dir }, "a folder")},
	{name: "checkpoint-every", group: losses, arg: "K", initial: "10",
		does:  "Write a set of files every K safe points.",
		set:   natural(func(o *options) *uint64 { return &o.every }, 1, "a number of safe points"),
		needs: []need{{any: []string{"checkpoint"}, why: "it sets how often files are written"}}},
	{name: "drain", group: losses,
		does: "Take SIGTERM to intrarun as a notice that its host will be taken away: the processes there move to other hosts, and another host becomes the head. If they cannot, a last set of files of -checkpoint is written, and the job ends. A second signal ends the job at once. It is the default under Slurm and Kubernetes; without it, or with -drain=false, the first signal ends the job.",
		set:  toggle(func(o *options) *bool { return &o.Drain })},
	{name: "grace", group: losses, arg: "DURATION",
		does: "Leave within DURATION after such a notice, like 25s. A process that has not moved by then ends if another replica goes on, a job without a last set continues from the one before, and intrarun ends, although its job goes on.",
		set:  parsed(func(text string) (time.Duration, error) { return parseTime(text, time.Millisecond, "like 25s") }, func(o *options, d time.Duration) { o.Grace = d })},
	{name: "restart", group: losses, common: true, arg: "DIR",
		does: "Continue from the newest usable set of files in DIR, or from the set whose folder DIR is, with any degrees.",
		set:  word(func(o *options) *string { return &o.Folders.Restart }, "a folder with checkpoint files")},
	{name: "restart-anyway", group: losses,
		does:  "Continue also from files of another program, or of this one with other arguments.",
		set:   toggle(func(o *options) *bool { return &o.Folders.Anyway }),
		needs: []need{{any: []string{"restart"}, why: "it sets which files are accepted"}}},
}

// defaultEvery is the default of -checkpoint-every.
const defaultEvery = 10

var corruptionFlags = []row{
	{name: "sdc", group: corruption, common: true, arg: "MODE", initial: "off", off: []string{"off"},
		does: "Find wrong results: the replicas of a rank run the same tasks and compare the results, and what they send. dual: all tasks; sample=P: a share of them, like sample=1%; state: the registered state at each safe point, or state=N at each Nth; or two of these, like dual,state.",
		set:  parsed(job.ParseVerification, func(o *options, v *job.Verification) { o.Verify = v }),
		excludes: []clash{
			{with: "check", why: "checked mode compares all tasks itself"},
			{with: oneReplica, when: []string{"dual", "state"}, why: "there is no other replica to compare with",
				cure: "give each rank two replicas, or -sdc sample=P"},
		}},
	{name: "seed", group: corruption, arg: "NUMBER", initial: "1 for -fault, else random",
		does:  "Make the choices of -sdc and -fault weibull follow from NUMBER, so that a job can be repeated.",
		set:   natural(func(o *options) *uint64 { return &o.seed }, 0, "a number"),
		needs: []need{{any: []string{"sdc", "fault=weibull"}, why: "nothing else is random"}}},
}

var bugFlags = []row{
	{name: "check", group: bugs,
		does: "Checked mode: find wrong clauses, forgotten state and replicas that diverge.",
		set:  toggle(func(o *options) *bool { return &o.Check }),
		excludes: []clash{
			{with: "replace", why: "checked mode replaces no processes"},
			{with: "spares", why: "checked mode replaces no processes"},
		}},
	{name: "diverge", group: bugs, arg: "WHAT", initial: string(job.DivergeStrict), off: []string{string(job.DivergeOff)},
		does: "Compare the registered state of the replicas of a rank at safe points, or without safe points what tasks read, for at most 0.4 % of the time, and in short jobs each time that the number of places has doubled. strict: end the job with exit code 4 if they differ; warn: warn once, and go on; off: do not compare. With -sdc, its comparisons replace these.",
		set:  parsed(job.ParseDiverge, func(o *options, d job.Diverge) { o.Diverge = d })},
	{name: "stuck", group: bugs, arg: "DURATION", initial: "30s",
		does: "Report processes that wait for each other and make no progress for DURATION. off: do not; abort: end the job then. It can be given twice, with a time and with abort.",
		set:  func(o *options, text string) error { return setStuck(&o.Stuck, text) }},
	{name: "endless", group: bugs, arg: "DURATION", initial: "1m",
		does: "Kill a replica that makes no progress (no section, task, message, safe point, Once or output) for DURATION while every rank has finished in another replica. off: wait for it.",
		set: func(o *options, text string) (err error) {
			if o.Endless = 0; text != "off" {
				o.Endless, err = parseTime(text, leastStuck, "like 60s, or off")
			}
			return err
		}},
	{name: "clone", group: bugs, arg: "RANK.REPLICA=COMMAND", repeats: true,
		does: "Start a process by a tool, like '0.1=strace -f -o trace': as COMMAND PROGRAM ARGS, or with PROGRAM in the place of {program}.",
		set:  parsed(job.ParseClone, func(o *options, c job.Clone) { o.Clones = append(o.Clones, c) }),
		excludes: []clash{
			{with: "mpi", why: "a tool cannot start a process of an MPI library"},
			{with: "sched=static", why: "all replicas would wait for the tasks of the slow one"},
		}},
	{name: "counters", group: bugs, arg: "LIST",
		does: "Count events while tasks run, like cycles,instructions,cache-misses,page-faults,task-clock. The replicas of a rank count different ones, and the report has all.",
		set:  parsed(counters.Parse, func(o *options, all []string) { o.Counters = all })},
}

// leastStatus and leastStuck are the shortest meaningful times. Processes report their state
// ten times a second, and report a wait after a second.
const leastStatus, leastStuck = 100 * time.Millisecond, 2 * time.Second

// setStuck sets one of the values of -stuck. The flag may be given twice: with a time and with
// abort.
func setStuck(c *launch.Stuck, s string) error {
	switch s {
	case "off":
		*c = launch.Stuck{}
		return nil
	case "abort":
		c.Abort = true
		if c.After == 0 { // an earlier off has cleared it
			c.After = launch.DefaultStuck
		}
		return nil
	}
	d, err := parseTime(s, leastStuck, "like 30s, off or abort")
	if err == nil {
		c.After = d
	}
	return err
}

var faultFlags = []row{
	{name: "kill", group: faults, arg: "RANK.REPLICA@WHEN", repeats: true,
		does: "Kill a process (SIGKILL) at a point of its execution. WHEN is a duration, section:K, task:K, update:K, message:K, link:K (a new link, in jobs of more than 8 processes) or file:K (a step of a call of package file), or a step of recovery, join:STEP or backup:STEP.",
		set:  parsed(job.ParseKill, func(o *options, k job.Kill) { o.Faults.Kills = append(o.Faults.Kills, k) })},
	{name: "fault", group: faults, arg: "SPEC", repeats: true,
		does: "Inject a fault. flip:RANK.REPLICA@WHAT:N[:BIT] turns one bit of the Nth WHAT, counted from 0: a task's result (task), an update that is received (update), a message to another rank (message), the registered state at a safe point (state). defect:RANK.REPLICA,q=RATE turns a bit in each task's result with that probability, like defect:0.1,q=1e-3. again:RANK.REPLICA@FROM-TO makes a process go back, alone, from safe point TO to safe point FROM, and run again from there, like again:0.1@3-7. stale makes each process overwrite what -lag leaves on the other replica, so that a forgotten intra.Fetch shows. weibull:shape=S,mtbf=T kills processes at random: the times between failures have a Weibull distribution with that shape and mean, like weibull:shape=0.7,mtbf=20s.",
		set:  func(o *options, text string) error { return o.Faults.Add(text) }},
	oldFault("flip"), oldFault("defect"), oldFault("weibull"),
}

// oldFault returns the row of an old flag. Its argument belongs to -fault now.
func oldFault(kind string) row {
	now := kind + ":"
	return row{name: kind, group: old, arg: "SPEC", repeats: true, now: now,
		does: fmt.Sprintf("Write -fault %sSPEC instead.", now),
		set: func(o *options, text string) error {
			if text == "" {
				return errors.New("want a SPEC, as of -fault")
			}
			o.given["fault"] = append(o.given["fault"], now+text)
			return o.Faults.Add(now + text)
		}}
}
