package annotations

import (
	"go/types"
	"slices"
	"strings"
)

// Import paths of the packages of this module that the checks know.
const (
	// IntraPath is the package that programs import.
	IntraPath = "github.com/intrahpc/intra"
	// RuntimePath is the package with the calls that only generated code makes.
	RuntimePath = IntraPath + "/runtime"
	commPath    = IntraPath + "/comm"
)

// KnownByName reports whether a package belongs to the runtime. The checks know the functions
// of such packages by name.
func KnownByName(path string) bool {
	rest, ok := strings.CutPrefix(path, IntraPath)
	if !ok {
		return false
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
	return slices.Contains([]string{"", "comm", "runtime", "internal", "transport", "update", "sched", "annotations"}, first)
}

// forbiddenCall describes why a task must not call f. It returns "" if it may.
func forbiddenCall(f *types.Func) (what string, message bool) {
	if f.Pkg() == nil {
		return "", false
	}
	path, name := f.Pkg().Path(), f.Name()
	method := f.Signature().Recv() != nil
	call := "calls " + f.Pkg().Name() + "." + LocalName(f)
	switch path {
	case commPath:
		return call + ", which passes messages", true
	case IntraPath:
		if strings.HasPrefix(name, "Blocks") || name == "Tiles" || method && slices.Contains([]string{"Rank", "Size", "Tasks", "Context"}, name) {
			return "", false
		}
		if method && name == "World" {
			return "", false
		}
		if method && name == "Replica" {
			return call + ", so that its result would differ between replicas", false
		}
		return call + ", which belongs outside of tasks", false
	case RuntimePath:
		return call + ", which is for generated code", false
	case "fmt":
		if strings.HasPrefix(name, "Print") || strings.HasPrefix(name, "Fprint") || strings.Contains(name, "can") {
			return call + ", which does input or output", false
		}
	case "os", "bufio", "io", "io/ioutil", "os/exec", "os/signal", "os/user", "syscall", "log", "log/slog", "net", "net/http", "testing":
		return call + ", which does input or output", false
	case "time":
		switch name {
		case "Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker":
			return call + ", whose result differs between replicas; pass the time as a parameter", false
		case "Reset", "Stop":
			return call + ", a timer", false
		}
	case "math/rand", "math/rand/v2":
		if !method && !strings.HasPrefix(name, "New") {
			return call + ", the process-wide random source; make a generator in the task: rand.New(rand.NewPCG(seed, number))", false
		}
	case "crypto/rand":
		return call + ", which differs between replicas", false
	case "runtime":
		switch name {
		case "NumCPU", "NumGoroutine", "GOMAXPROCS", "ReadMemStats", "Caller", "Callers", "Stack":
			return call + ", whose result differs between hosts", false
		}
	}
	return "", false
}
