package annotations

import (
	"fmt"
	"go/ast"
	"go/build/constraint"
	"path/filepath"
	"strings"
)

// Tag is the build tag of the programs that intragen rewrites.
const Tag = "intra"

// Constraint returns the file's own //go:build expression, or nil.
func Constraint(f *ast.File) constraint.Expr {
	for _, g := range f.Comments {
		if g.Pos() > f.Package {
			break
		}
		for _, c := range g.List {
			if constraint.IsGoBuild(c.Text) {
				if x, err := constraint.Parse(c.Text); err == nil {
					return x
				}
			}
		}
	}
	return nil
}

// ConstraintLine returns the //go:build line of the file generated from a source. It returns
// "" if the file needs none. The line combines two constraints. The first is that of the
// source; in a twin, !intra becomes intra. The second is the constraint that the name of the
// source implies, since the name of the output does not imply it.
func ConstraintLine(own constraint.Expr, name string, twin bool) string {
	if twin {
		own = flipTag(own)
	}
	for _, tag := range impliedTags(name) {
		t := constraint.Expr(&constraint.TagExpr{Tag: tag})
		if own == nil {
			own = t
		} else if !hasConjunct(own, t.String()) {
			own = &constraint.AndExpr{X: t, Y: own}
		}
	}
	if own == nil {
		return ""
	}
	return "//go:build " + own.String()
}

func flipTag(x constraint.Expr) constraint.Expr {
	switch x := x.(type) {
	case *constraint.AndExpr:
		return &constraint.AndExpr{X: flipTag(x.X), Y: flipTag(x.Y)}
	case *constraint.NotExpr:
		if t, ok := x.X.(*constraint.TagExpr); ok && t.Tag == Tag {
			return t
		}
	}
	return x
}

func hasConjunct(x constraint.Expr, want string) bool {
	if and, ok := x.(*constraint.AndExpr); ok {
		return hasConjunct(and.X, want) || hasConjunct(and.Y, want)
	}
	return x != nil && x.String() == want
}

// withoutTag reports whether the constraint excludes the file in builds with the tag.
func withoutTag(x constraint.Expr) bool { return hasConjunct(x, "!"+Tag) }

// mentionsTag reports whether the constraint depends on the tag.
func mentionsTag(x constraint.Expr) bool {
	switch x := x.(type) {
	case *constraint.TagExpr:
		return x.Tag == Tag
	case *constraint.NotExpr:
		return mentionsTag(x.X)
	case *constraint.AndExpr:
		return mentionsTag(x.X) || mentionsTag(x.Y)
	case *constraint.OrExpr:
		return mentionsTag(x.X) || mentionsTag(x.Y)
	}
	return false
}

// OutputName returns the name of the file generated from a source.
func OutputName(source string) string {
	if base, ok := strings.CutSuffix(source, "_test.go"); ok {
		return base + "_intra_test.go"
	}
	return strings.TrimSuffix(source, ".go") + "_intra.go"
}

// IsOutputName reports whether a file with this name may be generated.
func IsOutputName(name string) bool {
	return strings.HasSuffix(name, "_intra.go") || strings.HasSuffix(name, "_intra_test.go")
}

// impliedTags returns the operating system and the architecture that the name of a file
// implies.
func impliedTags(name string) []string {
	name = strings.TrimSuffix(strings.TrimSuffix(filepath.Base(name), ".go"), "_test")
	parts := strings.Split(name, "_")
	if len(parts) < 2 {
		return nil
	}
	last := parts[len(parts)-1]
	switch {
	case knownOS[last]:
		return []string{last}
	case knownArch[last]:
		if len(parts) >= 3 && knownOS[parts[len(parts)-2]] {
			return []string{last, parts[len(parts)-2]} // in the order of prepending
		}
		return []string{last}
	}
	return nil
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// The names that the go command recognises in file names.
var (
	knownOS = set("aix android darwin dragonfly freebsd hurd illumos ios js linux nacl netbsd openbsd plan9 solaris wasip1 windows zos")

	knownArch = set("386 amd64 amd64p32 arm armbe arm64 arm64be loong64 mips mipsle mips64 mips64le mips64p32 mips64p32le ppc ppc64 ppc64le riscv riscv64 s390 s390x sparc sparc64 wasm")
)

// tagErrors checks that a file with sections excludes the tag, so that its twin can replace
// it. It also checks that kernels and state types are in files that do not mention the tag.
func tagErrors(f *ast.File, d *Directives, kernels []*Kernel) []*Error {
	own := Constraint(f)
	var errs []*Error
	if len(d.Order) > 0 && !withoutTag(own) {
		first := d.Sections[d.Order[0]]
		errs = append(errs, &Error{first.Pos, fmt.Sprintf("a file with //intra:section needs the line //go:build !%s at its top, followed by a blank line: under the tag %[1]s its generated twin takes its place", Tag)})
	}
	for _, k := range kernels {
		switch {
		case len(d.Order) > 0:
			errs = append(errs, &Error{k.Dir.Pos, fmt.Sprintf("kernel %s stands in a file with //intra:section; move it to a file without sections, so that edits of its body take effect in every build", k.Func.Name())})
		case mentionsTag(own):
			errs = append(errs, &Error{k.Dir.Pos, fmt.Sprintf("kernel %s stands in a file whose //go:build line mentions the tag %s; kernels belong in files of every build", k.Func.Name(), Tag)})
		}
	}
	for spec, dirs := range d.States {
		switch {
		case len(d.Order) > 0:
			errs = append(errs, &Error{dirs[0].Pos, fmt.Sprintf("type %s stands in a file with //intra:section; move it to a file without sections, which is part of every build", spec.Name.Name)})
		case mentionsTag(own):
			errs = append(errs, &Error{dirs[0].Pos, fmt.Sprintf("type %s stands in a file whose //go:build line mentions the tag %s; state belongs in files of every build", spec.Name.Name, Tag)})
		}
	}
	return errs
}
