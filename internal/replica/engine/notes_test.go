package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/callsite"
)

// A loop that sometimes runs zero times is not a mistake, nor is a section in which
// replicas only meet. A section that computes and never launches a task is one.
func TestNotesOnEmptySections(t *testing.T) {
	var sites callsite.Sites
	section := func(at string, byHand bool, tasks int) *Section {
		s := &Section{At: sites.At(at), ByHand: byHand, Tasks: make([]Task, tasks)}
		if byHand && tasks == 0 {
			s.Inside = worthSharing / 3
		}
		return s
	}
	var n notes
	meet := section("meet.go:1", true, 0)
	meet.Inside = time.Microsecond
	for range 4 {
		n.completed(meet)
		n.completed(section("never.go:1", true, 0))
		n.completed(section("generated.go:1", false, 0))
		n.completed(section("first.go:1", true, 0))
	}
	n.completed(section("first.go:1", true, 4))
	n.completed(section("first.go:1", true, 0))
	n.completed(section("always.go:1", true, 4))
	n.returned()
	require.Len(t, n.said, 1)
	require.Contains(t, n.said[0], "never.go:1: this section has never launched a task")
	n.returned()
	require.Len(t, n.said, 1, "once")
}

func TestNotesOnShortTasks(t *testing.T) {
	var sites callsite.Sites
	section := func(at string, tasks int, each time.Duration) *Section {
		ran := tasks / 2
		return &Section{At: sites.At(at), Tasks: make([]Task, tasks), ran: ran, inBodies: each * time.Duration(ran)}
	}
	var n notes
	for range 20 {
		n.completed(section("long.go:1", 20_000, 2*launching))
		n.completed(section("few.go:1", 16, launching/10))
	}
	require.Empty(t, n.said)
	for range 20 {
		n.completed(section("short.go:1", 20_000, launching/2))
		n.completed(section("other.go:1", 20_000, launching/2))
	}
	require.Len(t, n.said, 1, "once")
	require.Contains(t, n.said[0], "short.go:1: the tasks of this section take less than launching one does")
}
