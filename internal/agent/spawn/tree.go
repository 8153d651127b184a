package spawn

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// DefaultFanout bounds the number of agents that the head starts, and that each agent starts.
const DefaultFanout = 32

// Tree determines which process starts which agents. In Hosts, the first host of each part
// precedes the hosts below it. The tree matters only while the job starts.
type Tree struct {
	Hosts  []string
	Fanout int
}

// part is a host and the hosts below it.
type part struct {
	host  string
	below []string
}

// parts divides the hosts below the root. The sizes of the parts differ as little as possible,
// so that the tree is as low as possible. Consecutive hosts, such as those of a rack, stay
// together.
func (t *Tree) parts() []part {
	n := min(t.Fanout, len(t.Hosts))
	all := make([]part, n)
	for i := range n {
		from, to := i*len(t.Hosts)/n, (i+1)*len(t.Hosts)/n
		all[i] = part{t.Hosts[from], t.Hosts[from+1 : to]}
	}
	return all
}

// height is the number of levels below the root.
func (t *Tree) height() (h int) {
	for n := len(t.Hosts); n > 0; n = (n+t.Fanout-1)/t.Fanout - 1 {
		h++
	}
	return h
}

// Walk visits the tree from the top. It passes each starter, "" for the head, and the hosts
// that it starts.
func (t *Tree) Walk(visit func(starter string, hosts []string)) { t.walkFrom("", visit) }

func (t *Tree) walkFrom(root string, visit func(string, []string)) {
	all := t.parts()
	if len(all) == 0 {
		return
	}
	var hosts []string
	for _, p := range all {
		hosts = append(hosts, p.host)
	}
	visit(root, hosts)
	for _, p := range all {
		(&Tree{p.below, t.Fanout}).walkFrom(p.host, visit)
	}
}

// String returns a line for each starter, or "" if the head starts all agents.
func (t *Tree) String() string {
	var b strings.Builder
	if t.height() > 1 {
		t.Walk(func(starter string, hosts []string) {
			fmt.Fprintf(&b, "%s starts %s\n", cmp.Or(starter, "intrarun"), strings.Join(hosts, " "))
		})
	}
	return b.String()
}

// NewTree returns the tree of these hosts. A fanout of 0 means DefaultFanout. If one remote
// command reaches all hosts, the head starts all agents.
func NewTree(hosts []string, shell string, fanout int) *Tree {
	t := &Tree{slices.Clone(hosts), cmp.Or(fanout, DefaultFanout)}
	// localhost must be started from here: on another host the name means that host.
	slices.SortStableFunc(t.Hosts, func(a, b string) int {
		switch {
		case a == ThisHost && b != ThisHost:
			return -1
		case b == ThisHost && a != ThisHost:
			return 1
		}
		return 0
	})
	if StartsAll(shell) {
		t.Fanout = max(t.Fanout, len(t.Hosts))
	}
	return t
}

// StartsAll reports whether one remote command by this template reaches all hosts: Slurm's
// daemons form a tree themselves.
func StartsAll(shell string) bool {
	words, err := splitQuoted(shell)
	return err == nil && len(words) > 0 && filepath.Base(words[0]) == "srun"
}
