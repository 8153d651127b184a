package annotations

import (
	"go/ast"
	"strconv"

	"golang.org/x/tools/go/analysis"
)

// Moved reports imports of package runtime in files that people write: these need package
// intra, at the root of the module. Moved also runs on packages that do not compile, since
// such a file prevents compilation.
var Moved = &analysis.Analyzer{
	Name:             "intramoved",
	Doc:              "find imports of " + RuntimePath + ", which is for generated code, in the place of " + IntraPath,
	RunDespiteErrors: true,
	Run:              runMoved,
}

func runMoved(pass *analysis.Pass) (any, error) {
	for _, f := range pass.Files {
		if IsGenerated(f) {
			continue
		}
		for _, spec := range f.Imports {
			if path, err := strconv.Unquote(spec.Path.Value); err != nil || path != RuntimePath || usesRuntime(f, spec) {
				continue
			}
			start, end := spec.Pos(), spec.End()
			name := "" // the package's own name is intra
			if spec.Name != nil && spec.Name.Name != "intra" {
				name = spec.Name.Name + " "
			}
			pass.Report(analysis.Diagnostic{
				Pos: start, End: end,
				Message: RuntimePath + " is for generated code; import " + IntraPath,
				SuggestedFixes: []analysis.SuggestedFix{{
					Message:   "import " + IntraPath,
					TextEdits: []analysis.TextEdit{{Pos: start, End: end, NewText: []byte(name + strconv.Quote(IntraPath))}},
				}},
			})
		}
	}
	return nil, nil
}

// usesRuntime reports whether a file written by hand uses only names of package runtime, as
// benchmarks of the runtime do.
func usesRuntime(f *ast.File, spec *ast.ImportSpec) bool {
	name := "runtime"
	if spec.Name != nil {
		name = spec.Name.Name
	}
	found, only := false, true
	ast.Inspect(f, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if id, ok := s.X.(*ast.Ident); ok && id.Name == name && id.Obj == nil {
			found = true
			only = only && generatedOnly[s.Sel.Name]
		}
		return true
	})
	return found && only
}

// generatedOnly are the names of package runtime.
var generatedOnly = map[string]bool{
	"At": true, "Clauses": true, "Elementwise": true, "Embedded": true, "Lines": true, "Part": true, "Reach": true,
	"InBlock": true, "OutBlock": true, "InOutBlock": true, "ScratchBlock": true,
	"ReduceSlice": true, "ReduceVar": true, "Partial": true, "Op": true,
	"OpAdd": true, "OpMul": true, "OpMin": true, "OpMax": true, "OpAnd": true, "OpOr": true,
	"OpBitAnd": true, "OpBitOr": true, "OpBitXor": true, "OpFunc": true,
}
