//go:build system

package attack

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// app is a program that random jobs run.
type app struct {
	folder   string
	args     func(ranks int) string
	sections int // sections of each process
	messages int // approximate number of messages that each process sends to another rank
	points   int // number of safe points
}

var apps = []app{
	{"examples/hpccg", func(int) string { return "-nx 8 -ny 8 -nz 8 -iters 101 -json" }, 604, 400, 100},
	{"examples/hpccg", func(int) string { return "-nx 10 -ny 10 -nz 10 -iters 211 -json" }, 1264, 840, 210},
	{"examples/gtc", func(ranks int) string {
		return fmt.Sprintf("-mpsi 10 -mthetamax 32 -mzetamax %d -micell 2 -steps 25 -json", max(2, ranks))
	}, 350, 400, 25},
	{"internal/testkit/systemtest/attack/mixed", func(int) string { return "-passes 120 -seed 3" }, 160, 800, 120},
	{"internal/testkit/systemtest/attack/mixed", func(int) string { return "-passes 90 -seed 11 -size 400" }, 120, 600, 90},
}

// plan is one random job.
type plan struct {
	seed       uint64
	app        app
	degrees    []int
	flags      []string // flags except those that name folders
	kills      []job.Kill
	pinned     bool        // all processes run on one core
	injections []injection // actions from outside

	replace, backup, weibull bool
	spares                   int
	corrupt                  *corruption // nil: no error is injected, and nothing is compared
	files                    int         // safe points from one set to the next, 0: none
	then                     *plan       // the job that continues from the files
}

// injection is an action from outside on a process.
type injection struct {
	after  time.Duration // time since the start of intrarun
	signal string        // stop, pause or kill; int or gone are for intrarun itself, remove for the program's file
	victim job.Process
}

// removes reports whether the program's file is removed while the job runs.
func (p *plan) removes() bool {
	return slices.ContainsFunc(p.injections, func(b injection) bool { return b.signal == "remove" })
}

func newPlan(seed uint64) *plan {
	d := dice{rand.New(rand.NewPCG(seed, 14))}
	p := &plan{seed: seed, app: one(d, apps)}
	if corrupted(seed) {
		p.corruption(d)
		return p
	}
	if d.once(4) {
		p.overtaken(d)
		p.outside(d)
		return p
	}
	p.shape(d, one(d, []int{1, 2, 2, 2, 2, 3, 3, 4, 5}), anyDegree)
	p.recovery(d)
	if d.once(5) {
		p.files = 1 + d.IntN(40)
		p.then = &plan{app: p.app}
		p.then.shape(d, len(p.degrees), anyDegree)
		if d.once(2) {
			p.then.recovery(d)
			p.then.choose(d)
		}
	}
	p.choose(d)
	if d.once(12) {
		p.weibull = true
		p.flag("-fault", fmt.Sprintf("weibull:shape=%s,mtbf=%dms", one(d, []string{"0.5", "0.7", "1", "2"}), 30+d.IntN(400)), "-seed", fmt.Sprint(1+d.IntN(1000)))
	}
	p.outside(d)
	return p
}

// corrupted reports whether the job of a seed has injected errors and comparisons.
func corrupted(seed uint64) bool { return seed%3 == 2 }

type dice struct{ *rand.Rand }

// once returns true once in n times.
func (d dice) once(n int) bool { return d.IntN(n) == 0 }

func one[T any](d dice, of []T) T { return of[d.IntN(len(of))] }

func (p *plan) flag(words ...string) { p.flags = append(p.flags, words...) }

var anyDegree = []int{1, 1, 2, 2, 2, 3}

// shape chooses replicas, links, schedules and cores.
func (p *plan) shape(d dice, ranks int, degrees []int) {
	for range ranks {
		p.degrees = append(p.degrees, one(d, degrees))
	}
	var text []string
	for _, n := range p.degrees {
		text = append(text, fmt.Sprint(n))
	}
	p.flag("-degrees", strings.Join(text, ","))
	link := one(d, []string{"", "shm", "shm", "unix", "tcp"})
	if link != "" {
		p.flag("-link", link)
	}
	sched := one(d, []string{"", "", "", "adaptive", "static", "static", "replicate"})
	if sched != "" {
		p.flag("-sched", sched)
	}
	switch {
	case link != "tcp" && (sched == "" || sched == "adaptive") && d.once(2):
		p.flag(one(d, []string{"-direct", "-direct=auto", "-direct=off"}))
	case d.once(8):
		p.flag("-limit", "300MB/s")
	}
	if link != "unix" && link != "tcp" && d.once(2) {
		p.flag("-ring", one(d, []string{"4K", "16K", "64K", "4M"}))
	}
	if d.once(3) {
		p.flag("-threads", fmt.Sprint(2+d.IntN(2)))
	}
	if bind := one(d, []string{"", "", "none", "core"}); bind != "" {
		p.flag("-bind", bind)
	}
	p.pinned = d.once(2)
}

func (p *plan) recovery(d dice) {
	switch d.IntN(10) {
	case 0, 1: // no process is replaced
	case 2, 3:
		p.spares = 1 + d.IntN(4)
	case 4:
		p.spares, p.replace = 1+d.IntN(2), true
	default:
		p.replace = true
	}
	if p.replace {
		p.flag("-replace")
	}
	if p.spares > 0 {
		p.flag("-spares", fmt.Sprint(p.spares))
	}
	if (p.replace || p.spares > 0) && len(p.degrees) > 1 && !d.once(5) {
		p.backup = true
		p.flag("-backup", one(d, []string{"1", "2", "3", "5", "5", "10", "30", "auto"}))
	}
}

// choose chooses the victims and the times. Often all replicas of a rank die at the same
// place, and then others during the rollback.
func (p *plan) choose(d dice) {
	n := one(d, []int{1, 1, 2, 2, 3, 4, 5})
	all := job.Processes(p.degrees)
	if d.once(2) {
		rank := d.IntN(len(p.degrees))
		at := p.point(d)
		for replica := range p.degrees[rank] {
			if d.once(5) {
				at = p.point(d)
			}
			at.Process = job.Process{Rank: rank, Replica: replica}
			p.kills = append(p.kills, at)
		}
	}
	for len(p.kills) < n {
		k := p.point(d)
		k.Process = one(d, all)
		p.kills = append(p.kills, k)
	}
	for p.backup && d.once(2) { // during the rollback, or before
		p.kills = append(p.kills, job.Kill{Process: one(d, all), Point: job.KillBackup, Step: one(d, job.BackupSteps)})
	}
	for _, k := range p.kills {
		p.flag("-kill", k.String())
	}
}

// overtaken plans a rollback to a backup, and more deaths during the rollback.
func (p *plan) overtaken(d dice) {
	p.shape(d, 2+d.IntN(2), anyDegree)
	p.replace, p.backup = true, true
	p.flag("-replace", "-backup", fmt.Sprint(1+d.IntN(5)))
	if d.once(4) {
		p.spares = 1 + d.IntN(3)
		p.flag("-spares", fmt.Sprint(p.spares))
	}
	for range 1 + d.IntN(2) {
		rank := d.IntN(len(p.degrees))
		at := job.Kill{Point: job.KillSection, Count: int64(p.app.sections/5 + d.IntN(p.app.sections/2))}
		for replica := range p.degrees[rank] {
			at.Process = job.Process{Rank: rank, Replica: replica}
			p.kills = append(p.kills, at)
		}
	}
	for range 1 + d.IntN(4) {
		k := job.Kill{Process: one(d, job.Processes(p.degrees)), Point: job.KillBackup, Step: one(d, job.BackupSteps[4:])}
		switch d.IntN(6) {
		case 0:
			k.Point, k.Step = job.KillJoin, one(d, job.JoinSteps)
		case 1:
			k.Point, k.Step, k.Count = job.KillMessage, "", int64(d.IntN(p.app.messages))
		}
		p.kills = append(p.kills, k)
	}
	for _, k := range p.kills {
		p.flag("-kill", k.String())
	}
}

// point chooses a point in the execution of a process.
func (p *plan) point(d dice) job.Kill {
	kinds := []job.KillPoint{job.KillSection, job.KillSection, job.KillTask, job.KillTask, job.KillUpdate, job.KillMessage, job.KillMessage, job.KillAfter}
	if p.replace || p.spares > 0 {
		kinds = append(kinds, job.KillJoin, job.KillJoin)
	}
	if p.backup {
		kinds = append(kinds, job.KillBackup, job.KillBackup, job.KillBackup)
	}
	k := job.Kill{Point: one(d, kinds)}
	switch k.Point {
	case job.KillSection:
		k.Count = int64(d.IntN(p.app.sections))
	case job.KillTask, job.KillUpdate:
		k.Count = int64(d.IntN(p.app.sections * 8))
	case job.KillMessage:
		k.Count = int64(d.IntN(p.app.messages))
	case job.KillAfter:
		k.After = time.Duration(d.IntN(800)) * time.Millisecond
	case job.KillJoin:
		k.Step = one(d, job.JoinSteps)
	case job.KillBackup:
		k.Step = one(d, job.BackupSteps)
	}
	return k
}

// outside chooses actions from outside on processes.
func (p *plan) outside(d dice) {
	at := func() time.Duration { return time.Duration(20+d.IntN(900)) * time.Millisecond }
	if d.once(6) {
		for range 1 + d.IntN(2) {
			p.injections = append(p.injections, injection{at(), one(d, []string{"stop", "pause", "pause", "kill"}), one(d, job.Processes(p.degrees))})
		}
	}
	if p.replace && d.once(20) {
		p.injections = append(p.injections, injection{after: at(), signal: "remove"})
	}
	switch d.IntN(30) {
	case 0:
		p.injections = append(p.injections, injection{after: at(), signal: "int"})
	case 1:
		p.injections = append(p.injections, injection{after: at(), signal: "gone"})
	}
	slices.SortStableFunc(p.injections, func(a, b injection) int { return int(a.after - b.after) })
}
