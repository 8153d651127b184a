// Command intravet checks the //intra: directives of Go packages. It also finds code outside
// of kernels that makes replicas diverge. It runs alone, with package patterns as arguments,
// and under the go command:
//
//	go vet -vettool=$(which intravet) ./...
//
// With -v, or -intra.v under the go command, it also lists uncertain problems, in one line for
// each directive: places where a kernel may violate its clauses and the analysis cannot
// decide.
//
// Alone it accepts -fix, which applies the suggested fixes. They include missing clauses of a
// kernel.
package main

import (
	"fmt"
	"os"

	"golang.org/x/tools/go/analysis/multichecker"

	"github.com/intrahpc/intra/annotations"
	"github.com/intrahpc/intra/internal/base/version"
)

func main() {
	if version.Asked(os.Args[1:]) {
		if _, err := fmt.Println(version.Line("intravet")); err != nil {
			fmt.Fprintln(os.Stderr, "intravet:", err)
			os.Exit(1)
		}
		return
	}
	for i, arg := range os.Args {
		if i > 0 && (arg == "-v" || arg == "--v") {
			os.Args[i] = "-" + annotations.Analyzer.Name + ".v"
		}
	}
	multichecker.Main(annotations.Analyzer, annotations.Control, annotations.Moved, annotations.Stale)
}
