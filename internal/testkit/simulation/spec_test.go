package simulation

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
	"github.com/intrahpc/intra/internal/testkit/simdisk"
	"github.com/intrahpc/intra/transport/sdr"
)

// spec describes a random job. Everything in it follows from the seed.
type spec struct {
	seed, plan uint64 // seed of the job, and seed of its program
	degrees    []int
	passes     uint64
	steps      int // number of steps of a pass
	does       activity
	pointless  bool // the program never reaches a safe point
	mirror     bool
	ordered    bool // see sdr.Config
	limits     sdr.Limits
	inPlace    bool
	inbox      int64
	patience   time.Duration
	lags       []int
	breaks     int // a connection breaks in one of that many steps; 0: never

	start   bool // new processes replace lost ones
	spares  int
	backup  recovery.Policy
	files   recovery.Files
	kills   []kill
	hosts   int
	gone    int           // step at which the program's file is removed, so that no more processes can be started; 0: never
	heirs   int           // number of heads that are lost
	steady  int           // a head is lost in one of that many steps
	busy    bool          // it is lost only while it handles a death
	swift   bool          // the first replicas of all ranks are ahead of the others
	echo    int           // in one of that many steps frames of a dead process to a joiner arrive; in the end all of them do
	shy     int           // in one of that many possible steps links to joiners are made
	kept    bool          // other nodes keep the decisions, even if none of them can become the head
	think   int           // in one of that many steps a decision is kept; 0: at once
	slow    int           // factor by which the head's clock is faster, which makes programs slow in comparison
	cost    time.Duration // time that processes report for a backup
	restart *restart

	moves  bool          // hosts and processes join and leave
	ranged bool          // ranks may have fewer replicas
	grace  time.Duration // from SIGTERM to the head until its host ends; 0: unbounded
	vacant int           // number of replicas of each rank that are missing at the start, if it has more

	outputs  bool // ranks write output files
	compared bool // replicas compare their messages
	wrong    int  // number of the received message that is wrong; 0: none
	doomed   bool // the sender of that message dies soon
}

// again returns a job that continues from the files of another one, with other degrees.
func (s *spec) again(from *restart) *spec {
	a := newSpec(s.seed ^ 1<<40)
	a.plan, a.passes, a.steps, a.does, a.limits, a.outputs, a.pointless, a.restart = s.plan, s.passes, s.steps, s.does, s.limits, s.outputs, false, from
	random := rand.New(rand.NewPCG(s.seed, 2))
	a.degrees = nil
	for range s.degrees {
		a.degrees = append(a.degrees, 1+random.IntN(3))
	}
	for i := range a.kills {
		p := &a.kills[i].process
		p.Rank = random.IntN(len(a.degrees))
		p.Replica = random.IntN(a.degrees[p.Rank])
	}
	return a
}

// restart is a set of files from which a job continues.
type restart struct {
	cut   uint64
	files []*file

	outputs []*simdisk.Disk // by rank: output files as the other job has left them
}

func newSpec(seed uint64) *spec {
	random := rand.New(rand.NewPCG(seed, 1))
	s := &spec{seed: seed, plan: random.Uint64(), passes: 1 + uint64(random.IntN(9)), steps: 1 + random.IntN(2)}
	for range 1 + random.IntN(4) {
		s.degrees = append(s.degrees, []int{1, 1, 2, 2, 2, 3}[random.IntN(6)])
	}
	s.mirror = random.IntN(12) == 0
	s.ordered = seed%2 == 0
	limits := []sdr.Limits{{Eager: 256, Window: 4000, Retain: 3000}, {Eager: 256, Window: 2000, Retain: 20000, Detach: 5000}, {Eager: 1024, Window: 2000, Retain: 40000}, {}}
	s.limits = limits[random.IntN(len(limits))]
	s.inPlace = random.IntN(2) == 0
	s.inbox = []int64{1 << 20, 1000, 0}[random.IntN(3)]
	s.patience = time.Duration(random.IntN(200)) * time.Microsecond
	s.lags = [][]int{{0}, {0, 0, 3}, {0, 20}, {0, 4, 60}, {0, 0, 200}}[random.IntN(5)]
	s.does = []activity{anything, anything, anything, messages, messages, sections}[random.IntN(6)]
	if random.IntN(4) == 0 {
		s.breaks = 20 + random.IntN(300)
	}
	s.hosts, s.slow, s.cost = 1+random.IntN(3), 1, 100*time.Microsecond
	if random.IntN(5) > 0 { // otherwise lost processes are not replaced
		s.start = random.IntN(3) > 0
		if !s.start || random.IntN(3) == 0 {
			s.spares = random.IntN(4)
		}
		switch random.IntN(6) {
		case 0:
			s.backup.Auto = true
		case 1, 2, 3, 4:
			s.backup.Every = 1 + uint64(random.IntN(3))
		}
		if random.IntN(4) == 0 {
			s.files = recovery.Files{Every: 1 + uint64(random.IntN(4)), First: 1 + uint64(random.IntN(3))}
		}
		s.pointless = random.IntN(50) == 0
	}
	for range random.IntN(6) {
		rank := random.IntN(len(s.degrees))
		pt := points[random.IntN(len(points))]
		k := kill{process: job.Process{Rank: rank, Replica: random.IntN(s.degrees[rank])}, anybody: random.IntN(2) == 0, point: pt.name, count: random.IntN(pt.most)}
		if n := random.IntN(12); n < 3 && (k.point == atStep || k.point == atAfter) {
			k.what = loss(1 + n)
		}
		s.kills = append(s.kills, k)
	}
	if random.IntN(4) == 0 {
		s.storm(random)
	}
	s.successors(random)
	if random.IntN(8) == 0 {
		s.gone = 1 + random.IntN(4000)
	}
	if weather := rand.New(rand.NewPCG(seed, 3)); weather.IntN(3) == 0 {
		storms[weather.IntN(len(storms))](s, weather)
	}
	s.err()
	s.output()
	return s
}

// activity is the kind of work of a program.
type activity int

const (
	anything activity = iota
	messages          // only rounds of messages
	sections
)

// storm plans many deaths of replicas, which are not replaced.
func (s *spec) storm(random *rand.Rand) {
	s.start, s.spares, s.passes = false, 0, 1+uint64(random.IntN(3))
	s.does = []activity{messages, messages, sections}[random.IntN(3)]
	s.backup, s.files = recovery.Policy{}, recovery.Files{}
	s.limits.Eager = 256
	s.degrees, s.kills = nil, nil
	for range 2 + random.IntN(3) {
		s.degrees = append(s.degrees, 1+random.IntN(3))
	}
	if s.does == sections {
		s.degrees = []int{2 + random.IntN(3), 1 + random.IntN(2)}
	}
	for rank, degree := range s.degrees {
		for replica := range degree - 1 {
			if random.IntN(3) > 0 {
				pt := []string{atStep, atStep, "frame", "message"}[random.IntN(4)]
				if s.does == sections {
					pt = []string{atStep, "section", "task", "update"}[random.IntN(4)]
				}
				most := map[string]int{atStep: 1200, "frame": 100, "message": 30, "section": 6, "task": 15, "update": 15}[pt]
				s.kills = append(s.kills, kill{process: job.Process{Rank: rank, Replica: (replica + int(s.seed)) % degree}, point: pt, count: random.IntN(most)})
			}
		}
	}
}

// plain returns the same program in a job without replicas and failures.
func (s *spec) plain() *spec {
	p := &spec{seed: s.seed, plan: s.plan, passes: s.passes, steps: s.steps, does: s.does, pointless: true, limits: s.limits, inbox: 1 << 20, lags: []int{0}, hosts: 1, slow: 1}
	p.outputs = s.outputs
	for range s.degrees {
		p.degrees = append(p.degrees, 1)
	}
	return p
}

// replaces reports whether the job replaces lost processes.
func (s *spec) replaces() bool { return s.start || s.spares > 0 }

// isVacant reports whether a slot has no process at the start.
func (s *spec) isVacant(p job.Process) bool {
	return p.Replica > 0 && p.Replica >= s.degrees[p.Rank]-s.vacant
}

// node returns the first host of a process.
func (s *spec) node(p job.Process) detect.ID {
	return firstNode + detect.ID((p.Rank+p.Replica)%s.hosts)
}

// successors plans the number of losses of the head.
func (s *spec) successors(random *rand.Rand) {
	s.steady, s.busy = []int{150, 600, 2400}[random.IntN(3)], random.IntN(2) == 0
	if random.IntN(4) == 0 {
		s.heirs = 1 + random.IntN(4)
	}
}

func (s *spec) String() string {
	return fmt.Sprintf("degrees %v, %d passes, start %v, spares %d, backup %v, files %+v, kills %v, program removed at %d, message %d wrong",
		s.degrees, s.passes, s.start, s.spares, s.backup, s.files, s.kills, s.gone, s.wrong)
}
