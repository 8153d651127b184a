package launcher

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Processes of the tables below.
const (
	boss = 10 + iota // belongs to the launcher
	first
	middle
	self
	second // started by the launcher, like first
	below  // started by second
)

func TestStarted(t *testing.T) {
	mpirun := process{parent: 1, name: "mpirun"}
	by := func(parent int, name, rank string) process {
		return process{parent: parent, name: name, program: "/bin/" + name, rank: rank, group: first, session: boss}
	}
	for _, c := range []struct {
		name         string
		table        table
		leftOver     string // why it was left over, "" if it was not
		others, same int
	}{
		{"started itself", table{boss: mpirun, self: by(boss, "intrarun", "0"), second: by(boss, "intrarun", "1")}, "", 1, 1},
		{"by a wrapper", table{boss: mpirun, first: by(boss, "sh", "0"), self: by(first, "intrarun", "0"), second: by(boss, "sh", "1"), below: by(second, "intrarun", "1")}, "", 1, 1},
		{"by one of several programs", table{boss: mpirun, first: by(boss, "python", "0"), self: by(first, "intrarun", "0"), second: by(boss, "python", "1")}, "", 1, 0},
		{"by one of several copies of a program", table{boss: mpirun, self: by(boss, "intrarun", "0"), second: by(boss, "sleep", "1"), below: by(second, "sh", "1")}, "", 1, 0},
		{"the other processes are on other hosts", table{boss: mpirun, self: by(boss, "intrarun", "0")}, "", 0, 0},
		{"out of sight, as in a container", table{self: by(0, "intrarun", "0")}, "", 0, 0},
		{"the launcher is the first process of a container", table{1: {name: "mpirun"}, self: by(1, "intrarun", "0"), second: by(1, "intrarun", "1")}, "", 1, 1},
		{"the launcher has ended", table{1: {name: "init"}, first: by(1, "tmux", "0"), self: by(first, "intrarun", "0")}, "the launcher has ended, and left tmux (process 11) behind", 0, 0},
		{"and a manager of services took over", table{boss: {parent: 1, name: "systemd"}, first: by(boss, "tmux", "0"), self: by(first, "intrarun", "0")}, "the launcher has ended, and left tmux (process 11) behind", 0, 0},
		{"a shell at a terminal", table{boss: {parent: 1, name: "slurmstepd"},
			first: {parent: boss, name: "bash", rank: "0", group: first, session: first, terminal: true},
			self:  {parent: first, name: "intrarun", rank: "0", group: self, session: first, terminal: true}}, "bash (process 11) has started it from a terminal", 0, 0},
		{"a shell below another one at a terminal", table{boss: {parent: 1, name: "slurmstepd"},
			first: {parent: boss, name: "sh", rank: "0", group: first, session: first, terminal: true},
			12:    {parent: first, name: "bash", rank: "0", group: 12, session: first, terminal: true},
			self:  {parent: 12, name: "intrarun", rank: "0", group: self, session: first, terminal: true}}, "bash (process 12) has started it from a terminal", 0, 0},
		{"a wrapper at a terminal", table{boss: {parent: 1, name: "slurmstepd"},
			first: {parent: boss, name: "sh", rank: "0", group: first, session: first, terminal: true},
			self:  {parent: first, name: "intrarun", rank: "0", group: first, session: first, terminal: true}}, "", 0, 0},
		{"a launcher that a shell at a terminal has started", table{boss: {parent: 9, name: "mpirun", group: boss, session: 9, terminal: true}, 9: {parent: 1, name: "bash", group: 9, session: 9, terminal: true},
			self: {parent: boss, name: "intrarun", rank: "0", group: self, session: 9, terminal: true}}, "", 0, 0},
		{"a launcher below another one", table{9: {parent: 1, name: "slurmstepd"}, boss: {parent: 9, name: "mpirun", rank: "0"}, self: by(boss, "intrarun", "0"), second: by(boss, "intrarun", "1")}, "", 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.leftOver, c.table.leftOver(self))
			others, same := c.table.beside(self)
			require.Equal(t, c.others, others)
			require.Equal(t, c.same, same)
		})
	}
}

// The other processes get twice the time that this process needed, within bounds.
func TestPatience(t *testing.T) {
	for age, want := range map[time.Duration]time.Duration{0: time.Second, 3 * time.Second: 6 * time.Second, time.Hour: 10 * time.Second} {
		require.Equal(t, want, table{self: {age: time.Minute, parent: first, rank: "0"}, first: {age: age, rank: "0"}}.patience(self))
	}
}

func TestParseStat(t *testing.T) {
	const rest = " S 1 2 3 34816 5 6 7 8 9 10 11 12 13 14 15 16 17 18 250 20"
	p, start, ok := parseStat([]byte("12 (a) b (c)" + rest))
	require.True(t, ok)
	require.Equal(t, process{parent: 1, group: 2, session: 3, terminal: true, name: "a) b (c"}, p)
	require.Equal(t, 2500*time.Millisecond, start)
	for _, bad := range []string{"", "12 (sh", "12 (sh) S 1", "12 (sh) S x 2 3 0 5 6 7 8 9 10 11 12 13 14 15 16 17 18 250 20"} {
		_, _, ok := parseStat([]byte(bad))
		require.False(t, ok, bad)
	}
}

// ReadTable finds this process and its ancestors.
func TestReadTable(t *testing.T) {
	for _, all := range []table{readTable("NO_SUCH_RANK"), readAbove(os.Getpid(), "NO_SUCH_RANK")} {
		p, ok := all[os.Getpid()]
		require.True(t, ok)
		require.Equal(t, os.Getppid(), p.parent)
		require.Equal(t, "launcher.test", p.name)
		require.Empty(t, p.rank)
		exe, err := os.Executable()
		require.NoError(t, err)
		require.Equal(t, exe, p.program)
	}
}
