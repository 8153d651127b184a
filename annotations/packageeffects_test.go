package annotations

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

const requested = `package p
func kernel(y []float64) { half(y)[0] = 1 }
func half(y []float64) []float64 { return y[:len(y)/2] }
func other(y []float64) { more(y) }
func more(y []float64) { y[0] = 2 }
`

func TestOnlyReachedFunctionsAreAnalysed(t *testing.T) {
	pass := &analysis.Pass{Fset: token.NewFileSet(), TypesInfo: &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Implicits: map[ast.Node]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
		Scopes: map[ast.Node]*types.Scope{}, Instances: map[*ast.Ident]types.Instance{}, FileVersions: map[*ast.File]string{},
	}}
	f, err := parser.ParseFile(pass.Fset, "p.go", requested, parser.SkipObjectResolution)
	require.NoError(t, err)
	pass.Files = []*ast.File{f}
	config := types.Config{Importer: importer.Default()}
	pass.Pkg, err = config.Check("p", pass.Fset, pass.Files, pass.TypesInfo)
	require.NoError(t, err)

	pe := newPackageEffects(pass, func(*types.Func) *Effects { return nil }, defaultLimits)
	fact := &packageFact{source: pe}
	kernel := pass.Pkg.Scope().Lookup("kernel").(*types.Func)
	written := fact.effects(kernel)
	require.Contains(t, written.Accesses, Access{Path: "*", Write: true})
	analysed := slices.SortedFunc(maps.Keys(pe.memo), func(a, b *ssa.Function) int { return int(a.Pos() - b.Pos()) })
	require.Equal(t, []string{"kernel", "half"}, []string{analysed[0].Name(), analysed[1].Name()})
	require.Len(t, analysed, 2)

	data, err := fact.GobEncode()
	require.NoError(t, err)
	var decoded packageFact
	require.NoError(t, decoded.GobDecode(data))
	require.Len(t, decoded.Funcs, 4)
	require.Equal(t, written.Accesses, decoded.effects(kernel).Accesses)
}
