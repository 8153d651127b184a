package annotations

import (
	"fmt"
	"go/constant"
	"os"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// filesPath is the import path of the package for output files that only one replica writes.
const filesPath = "github.com/intrahpc/intra/file"

// writesFile returns the name of the function by which a call creates or writes a file
// directly. Every replica would then write the file. It returns "" for any other call.
func writesFile(call *ssa.Call) string {
	f := targetOf(call)
	if f == nil || f.Pkg() == nil || f.Signature().Recv() != nil {
		return ""
	}
	name := f.Pkg().Path() + "." + f.Name()
	switch {
	case slices.Contains([]string{"os.Create", "os.WriteFile", "io/ioutil.WriteFile"}, name):
		return name
	case name != "os.OpenFile" || len(call.Call.Args) < 2:
		return ""
	}
	flag, ok := call.Call.Args[1].(*ssa.Const)
	if !ok || flag.Value == nil {
		return "" // the flags are not constant, so the call may only read
	}
	if n, exact := constant.Int64Val(flag.Value); !exact || n&int64(os.O_WRONLY|os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_TRUNC) == 0 {
		return ""
	}
	return name
}

// writes reports a call that makes every replica write the same file. If the name of the file
// differs between replicas, it is not reported.
func (c *control) writes(call *ssa.Call, s *spread) {
	what := writesFile(call)
	if what == "" || s.values[call.Call.Args[0]] != nil || c.allowed[c.line(call.Pos(), 0)] || c.reported[call.Pos()] {
		return
	}
	c.reported[call.Pos()] = true
	c.pass.Reportf(call.Pos(), "%s", fmt.Sprintf("%s: every replica writes the file: use package %s, or intra.Once (//intra:allow, if each replica has a file of its own)", what, filesPath))
}
