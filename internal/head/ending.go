package head

import (
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/recovery"
)

// end proposes that the job writes a last set of files and ends.
func (ls *leaves) end(reason string, within time.Duration) {
	if ls.interrupts || ls.state.Ending != nil {
		return
	}
	ls.interrupts = true
	e := decision.Entry{Kind: decision.Ending, Text: reason}
	if within > 0 {
		e.Until = ls.elapsed() + within
	}
	ls.propose(e)
}

// ending acts on the kept decision that the job writes a last set of files and ends.
func (ls *leaves) ending() {
	e := ls.state.Ending
	if e == nil || ls.phase != working {
		return
	}
	ls.warnf("the job ends with a last set of files (%s): nowhere to go", e.Reason)
	ls.continueEnding()
}

// continueEnding requests the last set. It is also called by a successor, and after the last set
// was abandoned.
func (ls *leaves) continueEnding() {
	if ls.state.Ending != nil && ls.phase <= working {
		ls.watch(ls.state.Ending.Until)
		ls.recovery.notify((*recovery.Head).Last)
	}
}

// finishEnding ends the job once its last set is complete, or the time is over.
func (ls *leaves) finishEnding() {
	e := ls.state.Ending
	if e == nil || ls.phase != working {
		return
	}
	if set := ls.state.Newest(); set != nil && set.Number >= e.From {
		ls.stop(ExitInterrupted, interrupted(e, set.Done.Point, ls.config.Checkpoint.Dir, ""), byWord)
		return
	}
	whole := slices.ContainsFunc(ls.state.Sets, func(s decision.Set) bool { return s.Done == nil && s.Abandoned == nil })
	if e.Until == 0 || ls.elapsed() < e.Until || whole { // a set with all files is complete in a moment
		return
	}
	if code, text, ok := ls.restartable("; the last set was not complete in time"); ok {
		ls.stop(code, text, byWord)
		return
	}
	ls.stop(InterruptCode(syscall.SIGTERM), fmt.Sprintf("ended (%s): no set of files was complete in time", e.Reason), byWord)
}

// interrupted describes the end of a job that continues from files.
func interrupted(e *decision.End, point uint64, dir, more string) string {
	return fmt.Sprintf("interrupted (%s): -restart %s continues from safe point %d%s", e.Reason, dir, point, more)
}
