//go:build system

package notices

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// schedule lists the events of one job. It depends only on its seed.
type schedule struct {
	seed    uint64
	program []string // folder and arguments
	hosts   int      // hosts at the start; the first one also runs intrarun
	slots   int      // slots of each host
	degrees []int    // replicas of each rank; the most, if ranged
	ranged  bool     // the job begins with at least one replica for each rank (-r 1..2)
	replace bool
	backup  bool
	drain   bool // SIGTERM to intrarun is a notice
	files   bool // the job writes sets of files
	grace   time.Duration
	acts    []act
}

// act is one event of a schedule.
type act struct {
	wait  float64 // time before it, as a part of the time of a run without failures
	what  deed
	host  int           // for all but kill
	on    job.Process   // for kill
	slots int           // of a host that joins
	hold  time.Duration // for notices: until the host is taken away, or until the second notice; 0: never
}

type deed string

const (
	notice  deed = "notice to host"       // SIGTERM, and SIGKILL of everything there after hold
	twice   deed = "two notices to host"  // SIGTERM, and another one after hold
	ask     deed = "drain host"           // intrarun drain, and SIGKILL of everything there after hold
	move    deed = "drain process"        // intrarun drain
	kill    deed = "kill process"         //
	take    deed = "take away host"       // SIGKILL of everything there, without a notice
	behead  deed = "kill intrarun"        // the intrarun that the user started
	arrival deed = "join the job by host" //
)

func (a act) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "after %.2f %s ", a.wait, a.what)
	switch a.what {
	case kill, move:
		fmt.Fprint(&b, a.on)
	case arrival:
		fmt.Fprintf(&b, "%d:%d", a.host, a.slots)
	case behead:
	default:
		fmt.Fprint(&b, a.host)
	}
	if a.hold > 0 {
		fmt.Fprintf(&b, " and %v later", a.hold.Round(time.Millisecond))
	}
	return b.String()
}

func (s schedule) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %v on %d hosts of %d slots, %s", s.seed, s.program, s.hosts, s.slots, s.flags())
	if s.files {
		fmt.Fprint(&b, " -checkpoint DIR")
	}
	for _, a := range s.acts {
		fmt.Fprintf(&b, "; %v", a)
	}
	return b.String()
}

// flags returns the flags of the job, without hosts and folders.
func (s schedule) flags() string {
	var words, degrees []string
	for _, d := range s.degrees {
		degrees = append(degrees, fmt.Sprint(d))
	}
	switch {
	case s.ranged:
		words = append(words, fmt.Sprintf("-n %d -r 1..2", len(s.degrees)))
	default:
		words = append(words, "-degrees "+strings.Join(degrees, ","))
	}
	if s.replace && !s.ranged {
		words = append(words, "-replace")
	}
	if s.backup {
		words = append(words, "-backup 5")
	}
	if s.drain {
		words = append(words, "-drain")
		if s.grace > 0 {
			words = append(words, "-grace "+s.grace.String())
		}
	}
	return strings.Join(words, " ")
}

// guests is the number of hosts that may join.
const guests = 2

var programs = [][]string{
	{"examples/hpccg", "-nx", "16", "-ny", "16", "-nz", "16", "-iters", "400", "-json"},
	{"examples/hpccg", "-nx", "40", "-ny", "40", "-nz", "40", "-iters", "300", "-json"},
	{"internal/testkit/systemtest/attack/mixed", "-passes", "150", "-seed", "3"},
}

func newSchedule(seed uint64) schedule {
	d := rand.New(rand.NewPCG(seed, 49))
	once := func(n int) bool { return d.IntN(n) == 0 }
	s := schedule{seed: seed, program: programs[d.IntN(len(programs))], hosts: 3 + d.IntN(2), replace: !once(8), files: once(3)}
	ranks := 2 + d.IntN(2)
	switch d.IntN(4) {
	case 0:
		s.degrees = append(s.degrees, []int{1, 1, 1}[:ranks]...)
	case 1:
		s.degrees = append(s.degrees, []int{2, 2, 2}[:ranks]...)
		s.ranged = s.replace && once(2)
	default:
		for range ranks {
			s.degrees = append(s.degrees, 1+d.IntN(2))
		}
	}
	processes := 0
	for _, n := range s.degrees {
		processes += n
	}
	s.slots = (processes+s.hosts-1)/s.hosts + []int{0, 1, 1, 2}[d.IntN(4)]
	if s.backup = s.replace && !once(4); !s.backup {
		s.files = s.files || once(2)
	}
	if s.drain = !once(3); s.drain && once(2) {
		s.grace = time.Duration(300+d.IntN(2000)) * time.Millisecond
	}
	s.choose(d, 1+d.IntN(4))
	return s
}

// choose chooses n acts, with at least one notice among them.
func (s *schedule) choose(d *rand.Rand, n int) {
	joined := 0
	for i := range n {
		a := act{wait: 1.4 * d.Float64() / float64(n+1), host: d.IntN(s.hosts + joined)}
		a.on = job.Process{Rank: d.IntN(len(s.degrees))}
		a.on.Replica = d.IntN(s.degrees[a.on.Rank])
		r := d.IntN(20)
		if i == 0 && d.IntN(2) == 0 {
			r = 0
		}
		switch {
		case r < 9 || i == n-1 && !s.noticed():
			a.what, a.hold = notice, []time.Duration{0, 80, 300, 1000, 2500}[d.IntN(5)]*time.Millisecond
			if a.hold > 0 {
				a.hold += time.Duration(d.IntN(200)) * time.Millisecond
			}
		case r == 9:
			a.what, a.hold = twice, time.Duration(1+d.IntN(600))*time.Millisecond
		case r == 10:
			a.what, a.hold = ask, time.Duration(300+d.IntN(2000))*time.Millisecond
		case r == 11:
			a.what = move
		case r < 15:
			a.what = kill
		case r < 17:
			a.what = take
		case r == 17:
			a.what = behead
		case joined < guests && s.replace:
			a.what, a.host, a.slots = arrival, s.hosts+joined, 1+d.IntN(2)
			joined++
		default:
			a.what = kill
		}
		s.acts = append(s.acts, a)
	}
}

// noticed reports whether a host has received a notice.
func (s *schedule) noticed() bool {
	for _, a := range s.acts {
		if a.what == notice {
			return true
		}
	}
	return false
}
