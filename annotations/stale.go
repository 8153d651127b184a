package annotations

import (
	"path/filepath"
	"regexp"

	"golang.org/x/tools/go/analysis"

	"github.com/intrahpc/intra/internal/base/clauses"
)

// Stale reports kernels whose generated launchers are out of date, because the clauses or
// signatures have changed.
var Stale = &analysis.Analyzer{
	Name: "intrastale",
	Doc: `find generated launchers that are out of date

A launcher repeats the clauses of its kernel. If they are edited without go generate,
tasks name other memory than the clauses say, and a program refuses to start.`,
	Run: runStale,
}

// recorded matches the recorded fingerprint of a kernel in a generated file.
var recorded = regexp.MustCompile(`\.Clauses\("[^"]*", \w+, "([0-9a-f]+)"\)`)

func runStale(pass *analysis.Pass) (any, error) {
	for _, f := range pass.Files {
		if IsGenerated(f) {
			continue
		}
		d := FindDirectives(pass.Fset, f)
		if len(d.Tasks) == 0 || len(d.Order) > 0 {
			continue
		}
		name := pass.Fset.File(f.Package).Name()
		output := OutputName(filepath.Base(name))
		generated, err := pass.ReadFile(filepath.Join(filepath.Dir(name), output))
		if err != nil {
			continue // intragen -check reports a missing file
		}
		if _, ours := GeneratedFrom(generated[:min(len(generated), 1024)]); !ours {
			continue
		}
		source, err := pass.ReadFile(name)
		if err != nil {
			return nil, err
		}
		m := recorded.FindSubmatch(generated)
		if m == nil || string(m[1]) != clauses.Fingerprint(string(source)) {
			pass.Reportf(f.Name.Pos(), "%s is out of date, clauses or signatures have changed since: run go generate", output)
		}
	}
	return nil, nil
}
