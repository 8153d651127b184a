//go:build system

package systemtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/testkit/netns"
)

// A schedule lists the faults of one run of HPCCG on chaosHosts hosts. The first host also
// runs intrarun. The schedule depends only on its seed.
type schedule struct {
	seed  uint64
	ranks int
	flags string
	every uint64 // safe points from one set of checkpoint files to the next; 0: no sets
	head  bool   // the head is lost
	acts  []act
}

const (
	chaosHosts    = 4
	chaosReplicas = 2
)

// act is one fault of the job.
type act struct {
	wait float64 // time before it, as a part of the time of a run without failures
	what deed
	on   job.Process // for faults of processes
	a, b int         // for faults on a host or between two
	how  netns.Conditions
	hold time.Duration // time until it is undone; 0: never
}

type deed string

const (
	killProcess deed = "kill"
	stopProcess deed = "stop"
	killHost    deed = "lose host"
	killAgent   deed = "kill the agent of host"
	stopAgent   deed = "stop the agent of host"
	linkDown    deed = "take down the link of host"
	oneWay      deed = "change from host"
	bothWays    deed = "change between host"
	aroundHost  deed = "change around host"
	killHead    deed = "kill intrarun on host"
	stopHead    deed = "stop intrarun on host"
)

func (a act) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "after %.2f %s ", a.wait, a.what)
	switch a.what {
	case killProcess, stopProcess:
		fmt.Fprint(&s, a.on)
	case oneWay, bothWays:
		fmt.Fprintf(&s, "%d to %d: %+v", a.a, a.b, a.how)
	case aroundHost:
		fmt.Fprintf(&s, "%d: %+v", a.a, a.how)
	default:
		fmt.Fprint(&s, a.a)
	}
	if a.hold > 0 {
		fmt.Fprintf(&s, " for %v", a.hold)
	}
	return s.String()
}

func (s schedule) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %d ranks %s", s.seed, s.ranks, s.flags)
	if s.every > 0 {
		fmt.Fprintf(&b, " -checkpoint-every %d", s.every)
	}
	for _, a := range s.acts {
		fmt.Fprintf(&b, "; %v", a)
	}
	return b.String()
}

func newSchedule(seed uint64) schedule {
	rng := rand.New(rand.NewPCG(seed, 7))
	pick := func(d ...time.Duration) time.Duration { // picks a duration from one of the ranges
		i := 2 * rng.IntN(len(d)/2)
		return d[i] + time.Duration(rng.Int64N(int64(d[i+1]-d[i]+1)))
	}
	s := schedule{seed: seed, ranks: 2 + 2*rng.IntN(2)}
	if rng.IntN(4) == 0 {
		s.flags += " -tls"
	}
	process := func() job.Process {
		return job.Process{Rank: rng.IntN(s.ranks), Replica: rng.IntN(chaosReplicas)}
	}
	if rng.IntN(4) == 0 {
		point := []string{"section", "task", "update", "message"}[rng.IntN(4)]
		s.flags += fmt.Sprintf(" -kill %v@%s:%d", process(), point, rng.IntN(300))
	}
	const ms, never = time.Millisecond, 0
	for range 1 + rng.IntN(3) {
		a := act{wait: 0.6 * rng.Float64(), on: process(), a: rng.IntN(chaosHosts)}
		a.b = (a.a + 1 + rng.IntN(chaosHosts-1)) % chaosHosts
		other := 1 + rng.IntN(chaosHosts-1) // not host 0, whose loss ends the job
		switch rng.IntN(12) {
		case 0, 1:
			a.what = killProcess
		case 2:
			a.what, a.hold = stopProcess, pick(50*ms, 800*ms, 1500*ms, 3000*ms)
		case 3:
			a.what, a.a = killHost, other
		case 4:
			a.what, a.a = killAgent, other
		case 5:
			a.what, a.a, a.hold = stopAgent, other, pick(50*ms, 400*ms, 1500*ms, 3000*ms)
		case 6:
			a.what, a.a, a.hold = linkDown, other, pick(50*ms, 300*ms, 500*ms, 3000*ms, never, never)
		case 7, 8, 9:
			a.what = []deed{oneWay, bothWays, aroundHost}[rng.IntN(3)]
			a.how.Cut = true
			a.hold = pick(50*ms, 400*ms, 50*ms, 400*ms, 500*ms, 5000*ms, never, never)
		default:
			a.what = []deed{oneWay, bothWays, aroundHost}[rng.IntN(3)]
			switch rng.IntN(3) {
			case 0:
				a.how.Delay, a.how.Jitter = pick(ms, 15*ms), pick(ms, 5*ms)
			case 1:
				a.how.Loss = 0.001 + 0.02*rng.Float64()
			case 2:
				a.how.Rate = 1e6 + 19e6*rng.Float64()
			}
			a.hold = pick(200*ms, 1500*ms)
		}
		s.acts = append(s.acts, a)
	}
	return s
}

// newHeadSchedule makes a schedule in which the head is lost, before or after
// other faults, and which writes checkpoint files half of the time.
func newHeadSchedule(seed uint64) schedule {
	s := newSchedule(seed)
	rng := rand.New(rand.NewPCG(seed, 8))
	a := act{wait: 0.7 * rng.Float64() * rng.Float64(), what: killHost}
	switch rng.IntN(5) {
	case 0:
		a.what = killHead
	case 1:
		a.what, a.hold = stopHead, time.Duration(1500+rng.IntN(3000))*time.Millisecond
	case 2:
		a.what = linkDown
	}
	s.head, s.acts = true, slices.Insert(s.acts, rng.IntN(len(s.acts)+1), a)
	if rng.IntN(2) == 0 {
		s.every = 1 + uint64(rng.IntN(20))
	}
	return s
}
