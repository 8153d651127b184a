package spawn

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// DefaultFanout is how many agents the head starts, and each of them in turn.
const DefaultFanout = 32

// Tree says who starts which agents: the hosts, the first of each part before
// those below it. Nothing but the start goes along it.
type Tree struct {
	Hosts  []string
	Fanout int
}

// part is a host and those below it.
type part struct {
	host  string
	below []string
}

// parts cuts the tree below its root. The parts are as even as can be, so that
// the tree is no higher than it must be, and hosts that follow each other, as
// those of a rack do, stay together.
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

// Walk visits the tree from above: the hosts that each one starts, "" being the
// head.
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

// String has a line for each that starts others, if that is not the head alone.
func (t *Tree) String() string {
	var b strings.Builder
	if t.height() > 1 {
		t.Walk(func(starter string, hosts []string) {
			fmt.Fprintf(&b, "%s starts %s\n", cmp.Or(starter, "intrarun"), strings.Join(hosts, " "))
		})
	}
	return b.String()
}

// NewTree returns that of these hosts. A fanout of 0 means DefaultFanout, and for
// a shell that reaches all hosts at once there is none.
func NewTree(hosts []string, shell string, fanout int) *Tree {
	t := &Tree{slices.Clone(hosts), cmp.Or(fanout, DefaultFanout)}
	// What is called localhost here is another one elsewhere.
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

// StartsAll reports whether a template of a remote command reaches all hosts at
// once: the daemons of Slurm are a tree themselves.
func StartsAll(shell string) bool {
	words, err := splitQuoted(shell)
	return err == nil && len(words) > 0 && filepath.Base(words[0]) == "srun"
}
