//go:build system

package files

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// app is a program that writes files.
type app struct {
	folder string
	args   func(dir string) []string
	log    string   // a file that grows in each pass
	grown  []string // patterns of the names of files that grow; the others are created
	call   int      // the most bytes that ranks append together in one call; 0: only one rank appends
	passes int
	steps  [2]int // number of its calls of package file: on rank 0, and on another rank
	counts map[job.KillPoint]int
}

var apps = []app{
	{
		folder: "examples/hpccg",
		args: func(dir string) []string {
			return append(strings.Fields("-nx 6 -ny 5 -nz 4 -iters 45 -json"), "-field", filepath.Join(dir, "field"), "-log", filepath.Join(dir, "log"))
		},
		log: "log", grown: []string{"log"}, passes: 45, steps: [2]int{180, 28},
		counts: map[job.KillPoint]int{job.KillSection: 270, job.KillTask: 900, job.KillUpdate: 900, job.KillMessage: 180},
	},
	{
		folder: "internal/testkit/systemtest/files/writer",
		args:   func(dir string) []string { return []string{"-passes", "30", "-dir", dir} },
		log:    "log", grown: []string{"log", "own*"}, call: 200, passes: 30, steps: [2]int{1500, 1000},
		counts: map[job.KillPoint]int{job.KillSection: 60, job.KillTask: 240, job.KillUpdate: 240, job.KillMessage: 60},
	},
}

// plan is one random job.
type plan struct {
	seed    uint64
	app     app
	ranks   int
	flags   []string
	signals []signal
	saves   bool     // the job writes checkpoint files
	then    []string // flags of the job that continues from them
}

// signal is a SIGKILL from outside.
type signal struct {
	pass   int           // sent once the log contains the line of this pass,
	after  time.Duration // and after this time
	victim string        // RANK.REPLICA, or intrarun
}

func newPlan(seed uint64) *plan {
	d := rand.New(rand.NewPCG(seed, 51))
	p := &plan{seed: seed, app: apps[seed%uint64(len(apps))], ranks: 1 + d.IntN(3)}
	replicas := 1 + d.IntN(3)
	keeps := d.IntN(2) == 0
	if p.ranks == 1 {
		replicas = max(2, replicas)
	}
	if keeps {
		replicas = 2
	}
	p.flags = p.shape(d, replicas)
	if keeps {
		p.flags = append(p.flags, "-fault", "stale", "-lag", []string{"1ms", "20ms", "1s"}[d.IntN(3)])
	}
	backup := p.ranks > 1 && d.IntN(4) > 0 && (!keeps || d.IntN(4) == 0)
	if backup {
		p.flags = append(p.flags, "-backup", fmt.Sprint(1+d.IntN(6)))
	}
	p.saves = d.IntN(4) == 0
	p.choose(d, replicas, backup)
	if p.saves {
		p.then = p.shape(d, 1+d.IntN(2))
	}
	return p
}

func (p *plan) shape(d *rand.Rand, replicas int) []string {
	flags := []string{"-n", fmt.Sprint(p.ranks), "-r", fmt.Sprint(replicas)}
	if link := []string{"", "shm", "unix", "tcp"}[d.IntN(4)]; link != "" {
		flags = append(flags, "-link", link)
	}
	if d.IntN(4) == 0 {
		flags = append(flags, "-spares", fmt.Sprint(1+d.IntN(3)))
	}
	return append(flags, "-replace")
}

// choose chooses victims and times. Often all replicas of a rank die at the same place.
func (p *plan) choose(d *rand.Rand, replicas int, backup bool) {
	at := func(rank int) string {
		// By a third of the run a backup is complete.
		after := func(n int) int { return n/3 + d.IntN(n-n/3) }
		switch k := d.IntN(10); {
		case k < 5:
			steps := p.app.steps[min(rank, 1)]
			return fmt.Sprintf("file:%d", after(steps))
		case k < 8:
			point := []job.KillPoint{job.KillSection, job.KillTask, job.KillUpdate, job.KillMessage}[d.IntN(4)]
			return fmt.Sprintf("%s:%d", point, after(p.app.counts[point]))
		case backup && k == 8:
			return "backup:" + job.BackupSteps[d.IntN(len(job.BackupSteps))]
		}
		return "join:" + job.JoinSteps[d.IntN(len(job.JoinSteps))]
	}
	kill := func(rank, replica int, when string) {
		p.flags = append(p.flags, "-kill", fmt.Sprintf("%d.%d@%s", rank, replica, when))
	}
	rank := d.IntN(p.ranks)
	switch {
	case (backup || p.saves) && d.IntN(2) == 0:
		for replica := range replicas { // the next writer dies in the same call, or later
			kill(rank, replica, at(rank))
		}
	case replicas > 1:
		kill(rank, 0, at(rank)) // kill the present writer
	}
	for range d.IntN(3) {
		if rank = d.IntN(p.ranks); backup || p.saves || replicas > 2 {
			kill(rank, d.IntN(replicas), at(rank))
		}
	}
	for range d.IntN(3) {
		if victim := (job.Process{Rank: d.IntN(p.ranks), Replica: d.IntN(replicas)}); backup || p.saves || replicas > 2 {
			p.signals = append(p.signals, signal{1 + d.IntN(p.app.passes), time.Duration(d.IntN(20_000)) * time.Microsecond, victim.String()})
		}
	}
	if p.saves && d.IntN(2) == 0 {
		p.signals = append(p.signals, signal{p.app.passes/3 + d.IntN(p.app.passes/2), time.Duration(d.IntN(20_000)) * time.Microsecond, "intrarun"})
	}
}
