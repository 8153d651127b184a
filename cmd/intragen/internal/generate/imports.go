package generate

import (
	"go/ast"
	"go/types"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/intrahpc/intra/annotations"
)

// imports maps packages to their names in the source, and collects those that an output
// needs.
type imports struct {
	pkg   *types.Package
	names map[string]string // by path: the name in the source file, or a chosen one
	used  map[string]bool   // paths that the output uses
	taken map[string]bool   // identifiers of the source, none of which a chosen name may equal
}

func newImports(pkg *types.Package, f *ast.File, taken map[string]bool) *imports {
	im := &imports{pkg: pkg, names: map[string]string{}, used: map[string]bool{}, taken: taken}
	for _, spec := range f.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		switch {
		case spec.Name == nil:
			for _, dep := range pkg.Imports() {
				if dep.Path() == p {
					im.names[p] = dep.Name()
				}
			}
		case spec.Name.Name != "_" && spec.Name.Name != ".":
			im.names[p] = spec.Name.Name
		}
	}
	return im
}

// name returns the name of a package in the output, and records that the output imports it.
func (im *imports) name(pkgPath, pkgName string) string {
	im.used[pkgPath] = true
	return im.reserve(pkgPath, pkgName)
}

// reserve returns the name that a package has in the output if the output imports it.
func (im *imports) reserve(pkgPath, pkgName string) string {
	n, ok := im.names[pkgPath]
	if !ok {
		n = pkgName
		for im.taken[n] || im.pkg.Scope().Lookup(n) != nil || im.nameUsed(n) {
			n += "0"
		}
		im.names[pkgPath] = n
	}
	return n
}

func (im *imports) nameUsed(n string) bool {
	for _, u := range im.names {
		if u == n {
			return true
		}
	}
	return false
}

// intra returns the name of package intra in the output.
func (im *imports) intra() string { return im.name(annotations.IntraPath, "intra") }

// runtimeName is the name of package runtime of this module in the output. It differs from
// that of the standard library.
const runtimeName = "intraruntime"

// runtime returns the name of the package with the calls of generated code in the output.
func (im *imports) runtime() string { return im.name(annotations.RuntimePath, runtimeName) }

func (im *imports) qualifier(p *types.Package) string {
	if p == im.pkg {
		return ""
	}
	return im.name(p.Path(), p.Name())
}

func (im *imports) typeString(t types.Type) string { return types.TypeString(t, im.qualifier) }

// block returns an import declaration for the used packages that are not in have.
func (im *imports) block(have map[string]bool) string {
	var std, other []string
	for p := range im.used {
		if have[p] {
			continue
		}
		n := im.names[p]
		spec := strconv.Quote(p)
		if n != path.Base(p) {
			spec = n + " " + spec
		}
		if first, _, _ := strings.Cut(p, "/"); strings.Contains(first, ".") {
			other = append(other, p+"\x00"+spec)
		} else {
			std = append(std, p+"\x00"+spec)
		}
	}
	if len(std)+len(other) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("import (\n")
	for i, group := range [][]string{std, other} {
		slices.Sort(group)
		if i == 1 && len(std) > 0 && len(other) > 0 {
			b.WriteByte('\n')
		}
		for _, s := range group {
			_, spec, _ := strings.Cut(s, "\x00")
			b.WriteString("\t" + spec + "\n")
		}
	}
	b.WriteString(")\n")
	return b.String()
}

// withEmbed adds package embed to an import declaration made by block.
func withEmbed(block string) string {
	if block == "" {
		return "import _ \"embed\"\n"
	}
	return strings.Replace(block, "import (\n", "import (\n\t_ \"embed\"\n", 1)
}
