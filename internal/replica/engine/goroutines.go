package engine

import (
	"runtime/debug"
	"slices"
	"strings"
	"sync"
)

// programRuns reports whether some goroutine of the program can continue by itself,
// according to these stacks: it computes, sleeps, or waits for the operating system. A
// goroutine that waits for another one cannot continue by itself, nor can one in a call of
// this module.
func programRuns(stacks, module string) bool {
	for goroutine := range strings.SplitSeq(stacks, "\n\n") {
		header, frames, _ := strings.Cut(strings.TrimSpace(goroutine), "\n")
		_, state, ok := strings.Cut(header, "[")
		state, _, closed := strings.Cut(state, "]")
		if !ok || !closed {
			continue
		}
		state, _, _ = strings.Cut(state, ",") // drop the duration of the wait
		state, _, _ = strings.Cut(state, " (")
		if !slices.Contains(waitsForOther, state) && inProgram(frames, module) {
			return true
		}
	}
	return false
}

// waitsForOther are the states of a goroutine in which only another goroutine can wake it.
var waitsForOther = []string{
	"chan receive", "chan send", "select", "semacquire", "coroutine",
	"sync.Mutex.Lock", "sync.RWMutex.Lock", "sync.RWMutex.RLock", "sync.Cond.Wait", "sync.WaitGroup.Wait",
}

const (
	intra    = "github.com/intrahpc/intra." // package at the root of the module
	ours     = "github.com/intrahpc/intra/"
	examples = ours + "examples/"
	kernels  = ours + "kernels." // kernels compute, so they count as the program
)

// inProgram reports whether the innermost frame outside of the standard library is
// the program's.
func inProgram(frames, module string) bool {
	for line := range strings.Lines(frames) {
		switch {
		case strings.HasPrefix(line, "\t"), strings.HasPrefix(line, "created by "):
		case strings.HasPrefix(line, examples), strings.HasPrefix(line, kernels), strings.HasPrefix(line, "main."):
			return true
		case strings.HasPrefix(line, intra), strings.HasPrefix(line, ours):
			return false
		case module != "" && (strings.HasPrefix(line, module+"/") || strings.HasPrefix(line, module+".")):
			return true
		default:
			first, _, isPath := strings.Cut(line, "/")
			if isPath && !strings.Contains(first, "(") && strings.Contains(first, ".") { // the paths of standard packages contain no domain
				return true
			}
		}
	}
	return false
}

// programModule returns the path of the program's module, "" if it is not known.
var programModule = sync.OnceValue(func() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Path+"/" != ours {
		return info.Main.Path
	}
	return ""
})
