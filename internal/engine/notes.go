package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/callsite"
)

// notes are what a process has to say to the user about how the program uses
// sections. All replicas of all ranks may say the same, so a note names nothing
// that differs between them, and the head tells of it once.
type notes struct {
	said  []string
	empty map[callsite.Site]bool // of sections opened by hand: no task was ever launched
	short map[callsite.Site]int  // of sections: tasks that took less than launching them did
	told  bool                   // of one with many such tasks
}

const (
	// launching is what it takes to launch a task, roughly: its regions are
	// kept, compared with those of the other tasks, and made part of the
	// signature of the section.
	launching = 500 * time.Nanosecond
	// manyShort tasks are as many as it takes for that to be worth mentioning.
	manyShort = 100_000
)

func (n *notes) add(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(n.said, text) {
		n.said = append(n.said, text)
	}
}

// completed takes in how s went.
func (n *notes) completed(s *Section) {
	if s.ByHand {
		if n.empty == nil {
			n.empty = make(map[callsite.Site]bool)
		}
		before, known := n.empty[s.At]
		if now := len(s.Tasks) == 0 && (before || !known); now != before || !known {
			n.empty[s.At] = now
		}
	}
	if n.told || s.ran == 0 || s.inBodies >= launching*time.Duration(s.ran) {
		return
	}
	if n.short == nil {
		n.short = make(map[callsite.Site]int)
	}
	if n.short[s.At] += len(s.Tasks); n.short[s.At] >= manyShort {
		n.told = true
		n.add("%s: the tasks of this section take less than launching one does, about %v: launch fewer that do more each, such as one for each of intra.Blocks(n, p.Tasks())", &s.At, launching)
	}
}

// returned takes in that the program has returned.
func (n *notes) returned() {
	empty := make(map[string]bool) // by place, which may be reached in several ways
	for at, is := range n.empty {
		before, known := empty[at.String()]
		empty[at.String()] = is && (before || !known)
	}
	for at, is := range empty {
		if is {
			n.add("%s: this section has never launched a task, so its work is not shared: a kernel is launched by s.Launch, by the launcher that intragen writes for it, or by its call in a block under //intra:section", at)
		}
	}
	slices.Sort(n.said)
}
