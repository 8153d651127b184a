package simulation

import (
	"math/rand/v2"
	"time"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// storms change the plan of a job so that rare events happen often.
var storms = []func(*spec, *rand.Rand){(*spec).aheadOfCuts, (*spec).rollbacks, (*spec).rollbacks, (*spec).ends, (*spec).joins}

// calm plans a job in which all lost processes are replaced, and no other fault happens
// yet.
func (s *spec) calm(random *rand.Rand, degrees ...int) {
	s.start, s.spares, s.gone, s.heirs, s.pointless = true, 0, 0, 0, false
	s.successors(random)
	s.backup, s.files = recovery.Policy{}, recovery.Files{}
	s.kills, s.degrees = nil, nil
	for range 2 + random.IntN(2) {
		s.degrees = append(s.degrees, degrees[random.IntN(len(degrees))])
	}
}

// dies plans the death of a process at one of the given points.
func (s *spec) dies(random *rand.Rand, most int, points ...string) {
	rank := random.IntN(len(s.degrees))
	s.kills = append(s.kills, kill{process: job.Process{Rank: rank, Replica: random.IntN(s.degrees[rank])},
		anybody: random.IntN(3) > 0, point: points[random.IntN(len(points))], count: random.IntN(most)})
}

// falls plans the death of a given process at some step.
func (s *spec) falls(random *rand.Rand, p job.Process, step int) {
	s.kills = append(s.kills, kill{process: p, point: atStep, count: random.IntN(step)})
}

// aheadOfCuts plans deaths of processes that are ahead of the others when the head asks
// for their positions.
func (s *spec) aheadOfCuts(random *rand.Rand) {
	s.calm(random, 1, 2, 2, 3)
	s.degrees[0], s.heirs = 3, 0
	s.passes, s.steps = 4+uint64(random.IntN(5)), 1
	s.does = []activity{anything, messages}[random.IntN(2)]
	s.swift, s.mirror = true, random.IntN(2) == 0
	s.falls(random, job.Process{Replica: 2}, 500)
	for rank, degree := range s.degrees {
		if degree > 1 && random.IntN(6) > 0 {
			s.kills = append(s.kills, kill{process: job.Process{Rank: rank}, point: "ask", count: random.IntN(2) * random.IntN(2)})
		}
	}
}

// rollbacks plans losses of ranks, further losses during the rollback, and broken links.
func (s *spec) rollbacks(random *rand.Rand) {
	s.calm(random, 1, 1, 2)
	s.passes = 4 + uint64(random.IntN(6))
	s.backup.Every = 1 + uint64(random.IntN(2))
	if random.IntN(3) == 0 { // the time between backups varies
		s.backup = recovery.Policy{Auto: true}
		s.slow, s.cost = 1000, []time.Duration{time.Microsecond, 10 * time.Microsecond, 100 * time.Microsecond}[random.IntN(3)]
	}
	s.kept = random.IntN(4) == 0
	s.inPlace = random.IntN(4) > 0
	if random.IntN(3) == 0 { // a rank that shares much is lost together with other ranks
		s.does, s.degrees[0], s.lags = sections, 2+random.IntN(2), []int{0, 4, 60}
	}
	s.shy = []int{0, 0, 20, 200}[random.IntN(4)]
	rank := random.IntN(len(s.degrees))
	for replica := range s.degrees[rank] {
		s.falls(random, job.Process{Rank: rank, Replica: replica}, 3000)
	}
	if random.IntN(5) == 0 { // the last holder of a copy loses a link before another holder exists
		s.degrees, s.kills = []int{1, 1, 1}[:2+random.IntN(2)], nil
		s.falls(random, job.Process{Rank: random.IntN(2)}, 2000)
		s.kills = append(s.kills, kill{process: job.Process{Rank: rank}, point: atAfter, count: random.IntN(600), what: aLink})
		return
	}
	for range 1 + random.IntN(4) {
		switch random.IntN(4) {
		case 0:
			s.dies(random, 6, "abort", "ready", "fetch", "resume", "go")
		case 1:
			s.dies(random, 8, "backup copy", "backup send", "backup receive", "backup stored", "complete")
		case 2:
			s.dies(random, 300, atAfter)
		default:
			s.dies(random, 100, atAfter)
			s.kills[len(s.kills)-1].what = []loss{aProcess, aLink}[random.IntN(2)]
		}
	}
}

// ends plans deaths of processes whose programs have returned, while others
// still run.
func (s *spec) ends(random *rand.Rand) {
	s.calm(random, 1, 1, 2)
	s.passes = 1 + uint64(random.IntN(4))
	s.does = []activity{anything, messages}[random.IntN(2)]
	if random.IntN(3) > 0 {
		s.backup.Every = 1
	}
	s.lags = [][]int{{0, 20}, {0, 4, 60}, {0, 0, 200}}[random.IntN(3)]
	if random.IntN(3) == 0 { // a finished process is needed again, and dies
		s.backup.Every, s.degrees[0], s.degrees[1] = 1, 1, 1
		s.kills = append(s.kills, kill{process: job.Process{Rank: random.IntN(2)}, other: true, point: "through", count: random.IntN(2)})
		s.dies(random, 4, "abort", "fetch", "ready", "resume")
		return
	}
	for range 1 + random.IntN(3) {
		s.dies(random, 2, "through", "through", "finished")
	}
	s.dies(random, 150, atAfter)
}

// joins plans slow jobs with joiners, and deaths of the donors that send them
// their state.
func (s *spec) joins(random *rand.Rand) {
	s.calm(random, 2, 2, 3)
	s.passes, s.steps = 5+uint64(random.IntN(5)), 1
	s.lags = [][]int{{0}, {0, 0, 3}, {0, 4, 60}, {0, 0, 200}}[random.IntN(4)]
	s.shy = []int{0, 20, 200}[random.IntN(3)]
	if random.IntN(2) == 0 {
		s.files = recovery.Files{Every: 1 + uint64(random.IntN(2)), First: 1}
	}
	s.kept = random.IntN(2) == 0
	switch random.IntN(4) {
	case 0: // the cut omits a joiner that still lacks a link to some process
		s.kept, s.think, s.shy, s.files = true, 50, 10+random.IntN(20), recovery.Files{}
		s.falls(random, job.Process{Replica: 1}, 600)
		s.kills = append(s.kills, kill{process: job.Process{Rank: 1, Replica: 1}, other: true, point: "ask"})
		return
	case 1: // the state of a dead donor arrives after that of the next donor
		s.degrees[0], s.echo = 3, 1000
		s.start, s.spares = false, 1 // another joiner would need a link to this one
		s.falls(random, job.Process{Replica: 2}, 600)
		s.dies(random, 2, "transferred")
		return
	}
	s.falls(random, job.Process{Rank: random.IntN(len(s.degrees))}, 1000)
	for range 1 + random.IntN(4) {
		s.dies(random, 4, "state", "transferred", "transferred", "copy", "receive", "joined", "drain", "go", "save", "admit")
	}
}
