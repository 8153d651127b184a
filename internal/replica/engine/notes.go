package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/base/callsite"
)

// notes are advice to the user about the use of sections. All replicas of all ranks may
// give the same advice. So a note contains nothing that differs between them, and the head
// shows it once.
type notes struct {
	said    []string
	details []string                  // shown only to users who want to see everything
	alone   map[*callsite.Site]*alone // sections opened by hand
	short   map[*callsite.Site]int    // sections with tasks that took less time than launching them
	added   bool                      // a note on short tasks has been added
}

// alone records what replicas did in a section without sharing it.
type alone struct {
	launched bool // a task was launched at least once, so not all loops were empty
	inside   time.Duration
}

const (
	// worthSharing is the least time in a section without tasks that is worth a note.
	// Replicas that spend less time there may use the section only to meet.
	worthSharing = time.Millisecond
	// launching is the approximate time to launch a task: recording its regions, comparing
	// them with those of the other tasks, and adding them to the signature of the section.
	launching = 100 * time.Nanosecond
	// manyShort is the number of short tasks that is worth a note.
	manyShort = 100_000
)

func (n *notes) add(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(n.said, text) {
		n.said = append(n.said, text)
	}
}

// Note adds a note to the user.
func (h *sharing) Note(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notes.add("%s", text)
}

// Detail adds a note to users who want to see everything.
func (h *sharing) Detail(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := &h.notes; !slices.Contains(n.details, text) {
		n.details = append(n.details, text)
	}
}

// completed updates the records from which notes follow: sections without tasks, and short tasks.
func (n *notes) completed(s *Section) {
	if s.ByHand {
		if n.alone == nil {
			n.alone = make(map[*callsite.Site]*alone)
		}
		at := n.alone[s.At]
		if at == nil {
			at = new(alone)
			n.alone[s.At] = at
		}
		at.launched = at.launched || len(s.Tasks) > 0
		at.inside += s.Inside
	}
	if n.added || s.ran == s.along || s.inBodies >= launching*time.Duration(s.ran-s.along) {
		return
	}
	if n.short == nil {
		n.short = make(map[*callsite.Site]int)
	}
	if n.short[s.At] += len(s.Tasks); n.short[s.At] >= manyShort {
		n.added = true
		n.add("%s: the tasks of this section take less than launching one does, about %v: launch fewer that do more each, such as one for each of intra.Blocks(n, p.Tasks())", s.At, launching)
	}
}

// returned adds the notes that are known only once the program has returned.
func (n *notes) returned() {
	places := make(map[string]alone) // several sites may have the same place
	for at, is := range n.alone {
		before := places[at.String()]
		places[at.String()] = alone{before.launched || is.launched, before.inside + is.inside}
	}
	for at, is := range places {
		if !is.launched && is.inside >= worthSharing {
			n.add("%s: this section has never launched a task, so its work is not shared: a kernel is launched by s.Launch, by the launcher that intragen writes for it, or by its call in a block under //intra:section", at)
		}
	}
	slices.Sort(n.said)
}
