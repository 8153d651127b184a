//go:build system

package notices

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// facts records the actions on a job.
type facts struct {
	schedule schedule
	names    []string // of the hosts
	quiet    time.Duration
	took     time.Duration // from the start of the job until no process was left
	pauses   time.Duration // the longest time for which the machine delayed the simulated network

	places     map[string]int // host on which each process began
	notices    []noticed
	killed     map[string]bool // processes
	taken      map[int]bool    // hosts that were taken away before they had left
	insisted   map[int]bool    // hosts that have received a second notice
	headKilled bool
	moves      int // processes that were to leave
	arrives    []act
	undecided  bool // for a moment, most of the hosts that keep the decisions may have been gone
}

// how is the way in which a host received a notice.
type how int

const (
	toAgent how = iota
	toHead
	byCommand
)

// noticed is a notice that a host has received.
type noticed struct {
	host int
	how  how
	at   time.Duration
	// calm means that the job could not be busy with anything earlier, so need and free are
	// exact.
	calm bool
	need int // processes there whose rank has no other replica elsewhere
	free int // slots on other hosts

	denied string // why intrarun drain was refused
}

// observed holds the information about hosts that a job has printed up to a moment.
type observed struct {
	deciders []int          // hosts that keep the decisions
	joined   map[int]bool   // hosts that have joined the running job
	places   map[string]int // host of each process
}

var (
	keptOn   = regexp.MustCompile(`(?:its decisions are|decisions of the head are) kept on ((?:[^\s,]+, )*[^\s,]+ and [^\s,]+)`)
	keptHere = regexp.MustCompile(`losing the head on (\S+) ends the job: (?:its decisions are kept on one host|there is no third host any more)`)
	guestIn  = regexp.MustCompile(`host (\S+) has joined the job, with room for`)
)

func observe(said string, names []string) observed {
	o := observed{joined: make(map[int]bool), places: make(map[string]int)}
	last := -1
	for _, r := range []*regexp.Regexp{keptOn, keptHere} {
		all := r.FindAllStringSubmatchIndex(said, -1)
		if len(all) == 0 || all[len(all)-1][0] < last {
			continue
		}
		m := all[len(all)-1]
		last, o.deciders = m[0], nil
		for _, name := range strings.FieldsFunc(strings.ReplaceAll(said[m[2]:m[3]], " and ", " "), func(c rune) bool { return c == ' ' || c == ',' }) {
			o.deciders = append(o.deciders, slices.Index(names, name))
		}
	}
	for _, m := range guestIn.FindAllStringSubmatch(said, -1) {
		o.joined[slices.Index(names, m[1])] = true
	}
	for _, m := range joinedAs.FindAllStringSubmatch(said, -1) {
		o.places[m[1]] = slices.Index(names, m[3])
	}
	return o
}

// notice records a notice.
func (f *facts) notice(o observed, host int, by how, at time.Duration) {
	n := noticed{host: host, how: by, at: at, calm: !f.damaged() && len(f.notices) == 0 && f.moves == 0}
	for _, a := range f.arrives {
		n.calm = n.calm && o.joined[a.host] && !f.schedule.ranged // a ranged job fills the slots of hosts that join
	}
	elsewhere := make(map[byte]bool) // by rank, which has one digit
	used := make(map[int]int)
	for p, at := range o.places {
		used[at]++
		elsewhere[p[0]] = elsewhere[p[0]] || at != host
	}
	for p, at := range o.places {
		if at == host && !elsewhere[p[0]] {
			n.need++
		}
	}
	for i := range f.schedule.hosts {
		if i != host && f.inUse(i) {
			n.free += f.schedule.slots - used[i]
		}
	}
	for _, a := range f.arrives {
		if o.joined[a.host] && a.host != host {
			n.free += a.slots - used[a.host]
		}
	}
	f.notices = append(f.notices, n)
	f.weigh(o)
}

// denied records that the job has refused the last notice, which intrarun drain had given.
func (f *facts) denied(why string) { f.notices[len(f.notices)-1].denied = why }

func (f *facts) again(o observed, host int) {
	if f.insisted == nil {
		f.insisted = make(map[int]bool)
	}
	f.insisted[host] = true
	f.weigh(o)
}

func (f *facts) kill(o observed, process string) {
	if f.killed == nil {
		f.killed = make(map[string]bool)
	}
	f.killed[process] = true
	f.weigh(o)
}

func (f *facts) take(o observed, host int) {
	if f.taken == nil {
		f.taken = make(map[int]bool)
	}
	f.taken[host] = true
	f.weigh(o)
}

func (f *facts) behead(o observed) {
	f.headKilled = true
	f.weigh(o)
}

// damaged reports whether something was killed.
func (f *facts) damaged() bool {
	return len(f.killed)+len(f.taken)+len(f.insisted) > 0 || f.headKilled
}

// weigh records whether most of the hosts that keep the decisions may be gone now. Other hosts
// may be about to replace those that have received a notice.
func (f *facts) weigh(o observed) {
	left, killed := len(o.deciders), 0
	for _, host := range o.deciders {
		dead := f.taken[host] || f.insisted[host] || host == 0 && f.headKilled
		if dead {
			killed++
		}
		if dead || f.mayLeave(host) {
			left--
		}
	}
	if killed > 0 && 2*left <= len(o.deciders) {
		f.undecided = true
	}
}

// mayLeave reports whether a host has received a notice.
func (f *facts) mayLeave(host int) bool {
	return slices.ContainsFunc(f.notices, func(n noticed) bool { return n.host == host && n.denied == "" })
}

// bearable bounds the pauses of the machine that a host must survive.
const bearable = 400 * time.Millisecond
