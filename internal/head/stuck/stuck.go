package stuck

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// Process is a live process of a job.
type Process struct {
	Process  job.Process
	Doing    *job.Doing // its activity now; nil: unknown, so the process may go on
	Finished bool       // its program has returned
}

// Deadlock describes processes that wait for each other.
type Deadlock struct {
	// Links is a chain in which each process waits for the next one. The last one waits for
	// the first, or for a rank that has finished.
	Links  []Link
	Ends   int // the rank that has finished, -1 if the chain is a cycle
	Others int // further processes that can never go on
	Apart  *Apart
}

// Apart describes two replicas of a rank that have taken different courses. Neither can go on,
// or one has finished. They are blocked at different calls, or have sent different numbers of
// messages.
type Apart struct {
	Process job.Process // a process that cannot go on
	Text    string      // where both are blocked
}

// Link is one process of a deadlock.
type Link struct {
	Name string // its rank, or the process's own name if replicas of a rank wait for each other
	Rank int
	Wait job.Wait
}

// String returns which process waits for which other one, and where.
func (d *Deadlock) String() string {
	switch d.Others {
	case 0:
		return d.Cycle()
	case 1:
		return d.Cycle() + "; another process waits for these"
	}
	return fmt.Sprintf("%s; %d other processes wait for these", d.Cycle(), d.Others)
}

// Cycle returns the text of String, without the processes counted in Others.
func (d *Deadlock) Cycle() string {
	var b strings.Builder
	b.WriteString("deadlock: ")
	for i, l := range d.Links {
		if i > 0 {
			b.WriteString(", ")
		}
		next := fmt.Sprint(d.Ends)
		if i+1 < len(d.Links) {
			next = d.Links[i+1].Name
		} else if d.Ends < 0 {
			next = d.Links[0].Name
		}
		fmt.Fprintf(&b, "%s waits in %v", l.Name, &l.Wait)
		if len(l.Wait.Ranks) == 0 {
			fmt.Fprintf(&b, " for %s", next)
		}
		if l.Wait.At != "" {
			fmt.Fprintf(&b, " (%s)", l.Wait.At)
		}
	}
	if d.Ends >= 0 {
		fmt.Fprintf(&b, ", and %d has finished", d.Ends)
	}
	return b.String()
}

// Find returns a deadlock of processes that have made no progress for the time after, or nil.
// all lists all live processes of the job. A rank without any live process counts as one that
// can go on: it will be replaced, or the job ends.
func Find(all []Process, after time.Duration) *Deadlock {
	g := graph{all: all, live: make([]bool, len(all)), of: make(map[int][]int)}
	for i := range all {
		g.of[all[i].Process.Rank] = append(g.of[all[i].Process.Rank], i)
		g.live[i] = !all[i].Finished && !all[i].blocked(after)
	}
	for more := true; more; {
		more = false
		for i := range all {
			if !g.live[i] && !all[i].Finished && g.canGoOn(i) {
				g.live[i], more = true, true
			}
		}
	}
	return g.deadlock()
}

// Candidate reports whether any process has been blocked for the time after. If it returns
// false, Find returns nil.
func Candidate(all []Process, after time.Duration) bool {
	return slices.ContainsFunc(all, func(p Process) bool { return p.blocked(after) })
}

// blocked reports whether a process waits for others, without progress for the time after.
func (p *Process) blocked(after time.Duration) bool {
	d := p.Doing
	return !p.Finished && d != nil && d.Blocked && d.Idle >= after && len(d.Waits) > 0 &&
		!slices.ContainsFunc(d.Waits, func(w job.Wait) bool { return w.Moving })
}

// graph records for each process the processes for which it waits.
type graph struct {
	all  []Process
	live []bool        // by index in all: the process may go on
	of   map[int][]int // by rank: the indices of its processes
}

// canGoOn reports whether the wait of one of the goroutines of a blocked process can end.
func (g *graph) canGoOn(i int) bool {
	return slices.ContainsFunc(g.all[i].Doing.Waits, func(w job.Wait) bool { return g.canCome(i, &w) })
}

func (g *graph) canCome(i int, w *job.Wait) bool {
	switch {
	case len(w.Ranks) == 0 && g.all[i].Doing.State == job.StateSafePoint:
		return g.missing() < 0
	case len(w.Ranks) == 0:
		others := slices.DeleteFunc(slices.Clone(g.of[g.all[i].Process.Rank]), func(j int) bool { return j == i })
		return len(others) == 0 || slices.ContainsFunc(others, func(j int) bool { return g.live[j] })
	case w.One:
		return slices.ContainsFunc(w.Ranks, g.goesOn)
	}
	return !slices.ContainsFunc(w.Ranks, func(rank int) bool { return !g.goesOn(rank) })
}

// goesOn reports whether a rank can go on: one of its replicas can, or it has no live replica.
func (g *graph) goesOn(rank int) bool {
	return len(g.of[rank]) == 0 || slices.ContainsFunc(g.of[rank], func(i int) bool { return g.live[i] })
}

// missing returns the lowest process that never reaches a safe point, or -1. A finished
// process does not hold up a safe point.
func (g *graph) missing() int {
	low := -1
	for i := range g.all {
		p := &g.all[i]
		if !g.live[i] && !p.Finished && p.Doing.State != job.StateSafePoint && (low < 0 || p.Process.Compare(g.all[low].Process) < 0) {
			low = i
		}
	}
	return low
}

// deadlock follows the waits of the processes that cannot go on, from the lowest one until
// the chain repeats or reaches a finished rank.
func (g *graph) deadlock() *Deadlock {
	first, hopeless := -1, 0
	for i := range g.all {
		if !g.live[i] && !g.all[i].Finished {
			hopeless++
			if first < 0 || g.all[i].Process.Compare(g.all[first].Process) < 0 {
				first = i
			}
		}
	}
	if first < 0 {
		return nil
	}
	d := &Deadlock{Ends: -1}
	var path []int
	for i := first; ; {
		if at := slices.Index(path, i); at >= 0 {
			path = path[at:]
			break
		}
		path = append(path, i)
		next, rank := g.next(i)
		if next < 0 {
			d.Ends = rank
			break
		}
		i = next
	}
	if d.Ends < 0 { // begin the cycle with the lowest process
		low := 0
		for k := range path {
			if g.all[path[k]].Process.Compare(g.all[path[low]].Process) < 0 {
				low = k
			}
		}
		path = append(slices.Clone(path[low:]), path[:low]...)
	}
	among := func(at int) bool { // the process waits for a replica of its own rank
		return at >= 0 && at+1 < len(path) && len(g.all[path[at]].Doing.Waits[0].Ranks) == 0 && g.all[path[at]].Process.Rank == g.all[path[at+1]].Process.Rank
	}
	for at, i := range path {
		p := &g.all[i]
		l := Link{Name: fmt.Sprint(p.Process.Rank), Rank: p.Process.Rank, Wait: p.Doing.Waits[0]}
		if among(at) || among(at-1) {
			l.Name = p.Process.String()
		}
		d.Links = append(d.Links, l)
	}
	d.Others = hopeless - len(path)
	d.Apart = g.apart()
	return d
}

// apart returns the lowest replicas of a rank that have taken different courses, or nil.
// Replicas make the same calls in the same order, and receive the same messages. So all
// replicas that can never go on should be blocked at the same call.
func (g *graph) apart() *Apart {
	order := make([]int, len(g.all))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return g.all[i].Process.Compare(g.all[j].Process) })
	for _, i := range order {
		p := &g.all[i]
		if g.live[i] || p.Finished || !p.inProgram() {
			continue
		}
		for _, j := range order {
			q := &g.all[j]
			switch {
			case q.Process.Rank != p.Process.Rank || g.live[j]:
			case q.Finished:
				return &Apart{p.Process, fmt.Sprintf("%v never leaves %s, but %v has finished", p.Process, p.place(), q.Process)}
			case !q.inProgram():
			case p.place() != q.place():
				return &Apart{p.Process, fmt.Sprintf("%v never leaves %s, and %v never %s", p.Process, p.place(), q.Process, q.place())}
			case p.Doing.Sent != q.Doing.Sent:
				return &Apart{p.Process, fmt.Sprintf("%v never leaves %s, where it has sent %d messages and %v has sent %d", p.Process, p.place(), p.Doing.Sent, q.Process, q.Doing.Sent)}
			}
		}
	}
	return nil
}

// inProgram reports whether a process runs the program, and neither rolls back nor joins.
func (p *Process) inProgram() bool {
	return p.Doing != nil && p.Doing.State != job.StateBack && p.Doing.State != job.StateJoining
}

// place returns the calls in which a process waits.
func (p *Process) place() string {
	var all []string
	for _, w := range p.Doing.Waits {
		text := w.String()
		if w.At != "" {
			text += " (" + w.At + ")"
		}
		all = append(all, text)
	}
	slices.Sort(all) // goroutines are listed in any order
	return strings.Join(all, ", ")
}

// next returns one process for which process i waits and which cannot go on either. If i waits
// only for ranks that have finished, it returns -1 and one of those ranks.
func (g *graph) next(i int) (process, rank int) {
	p := &g.all[i]
	ranks := p.Doing.Waits[0].Ranks
	switch {
	case len(ranks) > 0:
	case p.Doing.State == job.StateSafePoint:
		return g.missing(), -1
	default:
		for _, j := range g.of[p.Process.Rank] {
			if j != i && !g.all[j].Finished {
				return j, -1
			}
		}
		return -1, p.Process.Rank // all other replicas of its own rank have finished
	}
	finished := -1
	for _, rank := range ranks {
		if g.goesOn(rank) {
			continue
		}
		for _, j := range g.of[rank] {
			if !g.all[j].Finished {
				return j, -1
			}
		}
		if finished < 0 {
			finished = rank
		}
	}
	return -1, finished
}
