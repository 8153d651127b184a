package simulation

import (
	"cmp"
	"math/rand/v2"
	"time"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// moving returns a job that hosts and processes leave and join. It also has the deaths, stops and
// rollbacks of the usual job of that seed.
func moving(seed uint64) *spec {
	s := newSpec(seed)
	random := rand.New(rand.NewPCG(seed, 11))
	s.moves = true
	s.hosts = 1 + random.IntN(4)
	if !s.replaces() && random.IntN(4) > 0 {
		s.start = true
	}
	if s.start && s.passes < 4 && random.IntN(4) > 0 {
		s.passes += uint64(random.IntN(6))
	}
	if random.IntN(3) == 0 {
		s.kills = s.kills[:min(len(s.kills), random.IntN(2))]
	}
	if s.heirs == 0 && random.IntN(2) == 0 {
		s.heirs = 1 + random.IntN(3)
	}
	if s.replaces() && s.files.Every == 0 && random.IntN(5) == 0 {
		s.files = recovery.Files{Every: 1 + uint64(random.IntN(3)), First: 1}
	}
	if s.ranged = random.IntN(3) == 0; s.ranged && s.restart == nil {
		s.vacant = random.IntN(2)
	}
	if random.IntN(2) == 0 {
		s.grace = time.Duration(1+random.IntN(3000)) * time.Microsecond
	}
	for range 1 + random.IntN(5) {
		s.kills = append(s.kills, s.notice(random))
	}
	if s.files.Every > 0 && random.IntN(3) == 0 { // all hosts leave, so there is nowhere to go
		for i := range s.hosts {
			k := s.notice(random)
			k.what, k.host = aNotice, firstNode+detect.ID(i)
			s.kills = append(s.kills, k)
		}
	}
	return s
}

// notice plans one request to leave, to join, or for another number of replicas.
func (s *spec) notice(random *rand.Rand) kill {
	rank := random.IntN(len(s.degrees))
	k := kill{process: job.Process{Rank: rank, Replica: random.IntN(s.degrees[rank])}, anybody: random.IntN(2) == 0}
	k.what = []loss{aNotice, aNotice, aNotice, aDrain, aDrain, aMove, aMove, aMove, anArrival, anArrival, aDegree, aDegree}[random.IntN(12)]
	if s.hosts > 1 && s.heirs > 0 && random.IntN(5) == 0 || random.IntN(60) == 0 {
		k.what = aSignal
	}
	switch random.IntN(4) {
	case 0: // at a point in a process
		pt := points[random.IntN(len(points))]
		k.point, k.count = pt.name, random.IntN(pt.most)
	case 1:
		k.point, k.count = atAfter, random.IntN(300)
	default:
		k.point, k.count = atStep, random.IntN(1500)
	}
	if random.IntN(2) == 0 { // often too short
		k.within = time.Duration(1+random.IntN([]int{50, 500, 3000}[random.IntN(3)])) * time.Microsecond
	}
	if random.IntN(4) == 0 {
		k.again = 1 + random.IntN(300)
	}
	if random.IntN(3) == 0 {
		k.lost = random.IntN([]int{2, 200, 3000}[random.IntN(3)])
		k.mortal = true
	}
	return k
}

// request carries out a request of the plan. Nothing answers a request, except the notice of an
// agent, while there is no head.
func (w *world) request(k kill) {
	if k.again > 0 {
		again := k
		again.again = 0
		w.later = append(w.later, timed{w.steps + k.again, func() { w.request(again) }})
	}
	l, p := w.head, w.current(k.process)
	if k.anybody || p == nil {
		p = w.processes[w.random.IntN(len(w.processes))]
	}
	node := cmp.Or(k.host, p.from.Node)
	mortal := func() {
		if k.mortal && w.spec.hosts > 1 {
			w.later = append(w.later, timed{w.steps + k.lost, func() { w.strikeHost(node) }})
		}
	}
	switch k.what {
	case aNotice:
		if w.spec.hosts > 1 && !w.lost[node] && !w.gone[node] {
			w.seen["a notice"]++
			w.signalled[node] = true
			l.notified(node)
			mortal()
		}
	case aDrain:
		l.drain(node, k.within)
		mortal()
	case aMove:
		l.move(p, k.within)
	case aSignal:
		if w.spec.hosts > 1 && l.signal() {
			node = l.home
			mortal()
		}
	case anArrival:
		if w.spec.hosts > 1 {
			l.arrive(k)
		}
	case aDegree:
		l.degree(k.process.Rank)
	}
}

// timed is an event at a step of the run.
type timed struct {
	step int
	do   func()
}
