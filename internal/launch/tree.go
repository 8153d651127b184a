package launch

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/intrahpc/intra/internal/job"
)

// DefaultFanout is how many agents the head starts, and each of them in turn.
const DefaultFanout = 32

// tree is along which agents are started: the hosts, the first of each part
// before those below it. Nothing but the start goes along it.
type tree struct {
	hosts  []string
	fanout int
}

// part is a host and those below it.
type part struct {
	host  string
	below []string
}

// parts cuts the tree below its root. The parts are as even as can be, so that
// the tree is no higher than it must be, and hosts that follow each other, as
// those of a rack do, stay together.
func (t *tree) parts() []part {
	n := min(t.fanout, len(t.hosts))
	all := make([]part, n)
	for i := range n {
		from, to := i*len(t.hosts)/n, (i+1)*len(t.hosts)/n
		all[i] = part{t.hosts[from], t.hosts[from+1 : to]}
	}
	return all
}

// height is the number of levels below the root.
func (t *tree) height() (h int) {
	for n := len(t.hosts); n > 0; n = (n+t.fanout-1)/t.fanout - 1 {
		h++
	}
	return h
}

// walk visits the tree from above: the hosts that one starts, "" for the head.
func (t *tree) walk(visit func(starter string, hosts []string)) { t.walkFrom("", visit) }

func (t *tree) walkFrom(root string, visit func(string, []string)) {
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
		(&tree{p.below, t.fanout}).walkFrom(p.host, visit)
	}
}

// String has a line for each that starts others, if that is not the head alone.
func (t *tree) String() string {
	var b strings.Builder
	if t.height() > 1 {
		t.walk(func(starter string, hosts []string) {
			fmt.Fprintf(&b, "%s starts %s\n", cmp.Or(starter, "intrarun"), strings.Join(hosts, " "))
		})
	}
	return b.String()
}

// tree is that of the hosts which this process and the hosts have to start:
// those of an indexed job come by themselves.
func (c *Config) tree() *tree {
	t := &tree{fanout: cmp.Or(c.Fanout, DefaultFanout)}
	for _, h := range c.Placement.Hosts {
		if x := c.Indexed; x == nil || h.Name == x.Hosts[0].Name {
			t.hosts = append(t.hosts, h.Name)
		}
	}
	// What is called localhost here is another one elsewhere.
	slices.SortStableFunc(t.hosts, func(a, b string) int {
		switch {
		case a == thisHost && b != thisHost:
			return -1
		case b == thisHost && a != thisHost:
			return 1
		}
		return 0
	})
	if startsAll(c.RemoteShell) {
		t.fanout = max(t.fanout, len(t.hosts))
	}
	return t
}

// startsAll: the daemons of Slurm are a tree themselves.
func startsAll(shell string) bool {
	words, err := splitQuoted(shell)
	return err == nil && len(words) > 0 && filepath.Base(words[0]) == "srun"
}

// CheckFanout says why the number of agents that one starts cannot be chosen.
func (c *Config) CheckFanout() error {
	switch {
	case c.Fanout < 1:
		return fmt.Errorf("-fanout %d: want a number of hosts from 1", c.Fanout)
	case c.Indexed != nil:
		return fmt.Errorf("-fanout %d: the hosts of an indexed job come by themselves", c.Fanout)
	case startsAll(c.RemoteShell):
		return fmt.Errorf("-fanout %d: srun starts all hosts itself", c.Fanout)
	}
	return nil
}

// command is what starts an agent on a host: directly on this one, through the
// template on others.
func (s *summons) command(host string) ([]string, error) {
	if host == thisHost || s.Shell == "" {
		return s.Agent, nil
	}
	words, err := splitQuoted(s.Shell)
	if err != nil {
		return nil, fmt.Errorf("-rsh: %w", err)
	}
	if len(words) == 0 || !strings.Contains(s.Shell, hostPlace) {
		return nil, fmt.Errorf("-rsh %q: want a command with %s in it, like ssh %[2]s", s.Shell, hostPlace)
	}
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], hostPlace, host)
	}
	agent := slices.Clone(s.Agent)
	if filepath.Base(words[0]) == "ssh" { // the remote shell takes the words apart
		agent[0] = "'" + strings.ReplaceAll(agent[0], "'", `'\''`) + "'"
	}
	return append(words, agent...), nil
}

// named finds the host of that name.
func named(hosts []job.Host, name string) int {
	return slices.IndexFunc(hosts, func(h job.Host) bool { return h.Name == name })
}
