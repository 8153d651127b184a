package job

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Placement assigns each process to a host.
type Placement struct {
	Hosts  []Host          // hosts that are used
	Of     map[Process]int // index in Hosts
	Spares []int           // index in Hosts of each spare
	// Together lists the ranks that have two replicas on one host because there are not
	// enough hosts. SameRack lists other ranks that have two replicas in one rack.
	Together, SameRack []int
}

// Place assigns the processes of a job to hosts. No host gets more processes than it has
// slots. With oversubscribe, the processes are spread in proportion to the slots. Replicas
// of a rank are on different hosts if any placement allows that, and in different racks if
// possible. Neighbouring ranks are close together: replicas k of all ranks, which exchange
// messages, are placed one after another.
func Place(degrees []int, hosts []Host, oversubscribe bool) (*Placement, error) {
	pl := &placer{hosts: byRack(hosts), room: make([]int, len(hosts))}
	total, slots := 0, 0
	for _, d := range degrees {
		total += d
	}
	for i, h := range pl.hosts {
		pl.room[i] = h.Slots
		slots += h.Slots
	}
	if total > slots {
		if !oversubscribe {
			return nil, fmt.Errorf("%w: %d processes for %d slots on %d hosts: name more hosts or slots (h1:%d), or allow it with -oversubscribe",
				ErrHosts, total, slots, len(hosts), (total+len(hosts)-1)/len(hosts))
		}
		for i, h := range pl.hosts {
			pl.room[i] = (h.Slots*total + slots - 1) / slots
		}
	}
	pl.rest = slices.Clone(degrees)
	slices.SortFunc(pl.rest, func(a, b int) int { return cmp.Compare(b, a) })
	pl.start(degrees)
	p := &Placement{Of: make(map[Process]int)}
	chosen := make([][]int, len(degrees))
	for rank, d := range degrees {
		i := slices.Index(pl.rest, d)
		pl.rest = slices.Delete(pl.rest, i, i+1)
		chosen[rank] = pl.rank(d)
		if repeats(chosen[rank], func(h int) int { return h }) {
			p.Together = append(p.Together, rank)
		} else if repeats(chosen[rank], func(h int) string { return cmp.Or(pl.hosts[h].Rack, "\x00"+pl.hosts[h].Name) }) {
			p.SameRack = append(p.SameRack, rank)
		}
	}
	used := make(map[int]int)
	for i, h := range pl.hosts {
		if slices.ContainsFunc(chosen, func(c []int) bool { return slices.Contains(c, i) }) {
			used[i] = len(p.Hosts)
			p.Hosts = append(p.Hosts, h)
		}
	}
	for rank, c := range chosen {
		for replica, h := range c {
			p.Of[Process{rank, replica}] = used[h]
		}
	}
	return p, nil
}

// byRack orders hosts so that those of one rack follow each other. Apart from that, racks
// and hosts keep their order.
func byRack(hosts []Host) []Host {
	first := make(map[string]int)
	for i, h := range hosts {
		if _, ok := first[h.Rack]; !ok {
			first[h.Rack] = i
		}
	}
	hosts = slices.Clone(hosts)
	slices.SortStableFunc(hosts, func(a, b Host) int { return cmp.Compare(first[a.Rack], first[b.Rack]) })
	return hosts
}

func repeats[K comparable](chosen []int, key func(int) K) bool {
	seen := make(map[K]bool)
	for _, h := range chosen {
		seen[key(h)] = true
	}
	return len(seen) < len(chosen)
}

// placer places one rank after another.
type placer struct {
	hosts []Host
	room  []int // free slots of each host
	rest  []int // degrees of the ranks that are not placed yet, in descending order
	near  []int // preferred host for replica k of the next rank, by k
}

// start finds the preferred host for each replica k of the first rank. It is the host that
// follows replicas k-1 of all ranks, if slots are filled in order.
func (pl *placer) start(degrees []int) {
	host, room := 0, pl.room[0]
	for k := range slices.Max(degrees) {
		pl.near = append(pl.near, host)
		for _, d := range degrees {
			if d <= k {
				continue
			}
			for room == 0 && host+1 < len(pl.hosts) {
				host++
				room = pl.room[host]
			}
			room--
			if room == 0 && host+1 < len(pl.hosts) {
				host++
				room = pl.room[host]
			}
		}
	}
}

// rank places the replicas of one rank.
func (pl *placer) rank(degree int) (chosen []int) {
	apart := pl.feasible(nil, degree)
	for k := range degree {
		h := pl.pick(chosen, degree-k-1, pl.near[k], apart)
		pl.room[h]--
		pl.near[k] = h
		chosen = append(chosen, h)
	}
	return chosen
}

// pick chooses the host of one more replica. It prefers the nearest host in another rack
// than the chosen ones, then the nearest host that is not chosen, then the nearest host
// with room. With apart it chooses no host that would force other replicas to share a host
// later.
func (pl *placer) pick(chosen []int, more, near int, apart bool) int {
	withRoom := -1
	for _, ownRack := range []bool{true, false} {
		for i := range pl.hosts {
			h := (near + i) % len(pl.hosts)
			if pl.room[h] == 0 {
				continue
			}
			if withRoom < 0 {
				withRoom = h
			}
			if slices.Contains(chosen, h) || ownRack && pl.hosts[h].Rack != "" && pl.inRack(chosen, pl.hosts[h].Rack) {
				continue
			}
			if !apart {
				return h
			}
			pl.room[h]--
			ok := pl.feasible(append(chosen, h), more)
			pl.room[h]++
			if ok {
				return h
			}
		}
	}
	return withRoom
}

func (pl *placer) inRack(chosen []int, rack string) bool {
	return slices.ContainsFunc(chosen, func(h int) bool { return pl.hosts[h].Rack == rack })
}

// feasible reports whether the current rank can place more replicas on hosts other than
// chosen, so that all remaining ranks can still have each replica on a host of its own. The
// current rank takes the hosts with the most room. The placement is then possible if a
// condition holds for every k: the k largest ranks need no more slots than all hosts
// together can give to k ranks (Gale and Ryser).
func (pl *placer) feasible(chosen []int, more int) bool {
	room := slices.Clone(pl.room)
	taken := slices.Clone(chosen)
	for range more {
		best := -1
		for h, r := range room {
			if r > 0 && !slices.Contains(taken, h) && (best < 0 || r > room[best]) {
				best = h
			}
		}
		if best < 0 {
			return false
		}
		room[best]--
		taken = append(taken, best)
	}
	atLeast := make([]int, len(pl.rest)+1) // number of hosts with room for at least k replicas
	for _, r := range room {
		atLeast[min(r, len(pl.rest))]++
	}
	for k := len(pl.rest) - 1; k > 0; k-- {
		atLeast[k] += atLeast[k+1]
	}
	need, give := 0, 0
	for k, d := range pl.rest {
		need += d
		give += atLeast[k+1]
		if need > give {
			return false
		}
	}
	return true
}

// On returns the processes on host i, in their order.
func (p *Placement) On(i int) []Process {
	var all []Process
	for q, h := range p.Of {
		if h == i {
			all = append(all, q)
		}
	}
	slices.SortFunc(all, Process.Compare)
	return all
}

// Warning describes the loss that the placement may not survive, or returns "".
func (p *Placement) Warning() string {
	switch {
	case len(p.Together) > 0:
		return fmt.Sprintf("replicas of %s share a host, since there are not enough hosts or slots: the loss of that host can end the job", ranks(p.Together))
	case len(p.SameRack) > 0:
		return fmt.Sprintf("replicas of %s share a rack, since there are not enough racks or slots in them", ranks(p.SameRack))
	}
	return ""
}

// ranks names up to eight ranks.
func ranks(all []int) string {
	const few = 8
	var s []string
	for _, r := range all[:min(len(all), few)] {
		s = append(s, fmt.Sprint(r))
	}
	text := "rank " + s[0]
	if len(all) > 1 {
		text = "ranks " + strings.Join(s, ", ")
	}
	if len(all) > few {
		text += fmt.Sprintf(" and %d more", len(all)-few)
	}
	return text
}

// String returns the placement as text, one line for each host.
func (p *Placement) String() string {
	var b strings.Builder
	for i, h := range p.Hosts {
		all := p.On(i)
		var names []string
		for _, q := range all {
			names = append(names, q.String())
		}
		for range p.SparesOn(i) {
			names = append(names, "spare")
		}
		fmt.Fprintf(&b, "%s", h.Name)
		if h.Rack != "" {
			fmt.Fprintf(&b, " (rack %s)", h.Rack)
		}
		fmt.Fprintf(&b, ", %d of %d slots: %s\n", len(names), h.Slots, strings.Join(names, " "))
	}
	return b.String()
}
