package generate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/intrahpc/intra/annotations"
)

// program holds the loaded packages.
type program struct {
	fset  *token.FileSet
	roots []*packages.Package
	dirs  []string // folders of the packages that the patterns name
}

// load type-checks the packages that the patterns name, as in a build without the tag intra.
// Files that intragen has generated count as empty. So a stale or broken output never prevents
// its own regeneration.
func load(ctx context.Context, dir string, patterns []string) (*program, error) {
	goroot, err := goOutput(ctx, dir, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	flags, err := goOutput(ctx, dir, "env", "GOFLAGS")
	if err != nil {
		return nil, err
	}
	overlay, err := emptyOutputs(ctx, dir)
	if err != nil {
		return nil, err
	}
	p := &program{fset: token.NewFileSet()}
	std := filepath.Join(goroot, "src") + string(filepath.Separator)
	cfg := &packages.Config{
		Context: ctx,
		Dir:     dir,
		Fset:    p.fset,
		Mode:    packages.LoadAllSyntax | packages.NeedModule | packages.NeedForTest,
		Tests:   true,
		Env:     append(os.Environ(), "GOFLAGS="+withoutTag(flags)),
		Overlay: overlay,
		ParseFile: func(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
			if !strings.HasPrefix(name, std) {
				return parser.ParseFile(fset, name, src, parser.AllErrors|parser.ParseComments|parser.SkipObjectResolution)
			}
			// The checks recognise the functions of the standard library by name, so types are
			// enough, and bodies are not needed.
			f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
			if f != nil {
				for _, d := range f.Decls {
					if fd, ok := d.(*ast.FuncDecl); ok {
						fd.Body = nil
					}
				}
			}
			return f, err
		},
	}
	loaded, err := packages.Load(cfg, patterns...)
	if err != nil {
		return nil, fmt.Errorf("load packages: %w", err)
	}
	seen := map[string]bool{}
	for _, pkg := range loaded {
		if strings.HasSuffix(pkg.ID, ".test") {
			continue // go test makes this main package
		}
		p.roots = append(p.roots, pkg)
		for _, f := range pkg.GoFiles {
			if d := filepath.Dir(f); !seen[d] {
				seen[d] = true
				p.dirs = append(p.dirs, d)
			}
		}
	}
	if len(p.roots) == 0 {
		return nil, fmt.Errorf("no packages match %s", strings.Join(patterns, " "))
	}
	return p, nil
}

// withoutTag removes the tag intra from the -tags of GOFLAGS. With the tag, the go command
// would exclude the files with sections.
func withoutTag(goflags string) string {
	fields := strings.Fields(goflags)
	for i, f := range fields {
		name, list, ok := strings.Cut(f, "=")
		if !ok || strings.TrimLeft(name, "-") != "tags" {
			continue
		}
		tags := slices.DeleteFunc(strings.Split(list, ","), func(t string) bool { return t == annotations.Tag })
		fields[i] = name + "=" + strings.Join(tags, ",")
	}
	return strings.Join(fields, " ")
}

func goOutput(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && len(exit.Stderr) > 0 {
			return "", fmt.Errorf("go %s: %s", strings.Join(args, " "), bytes.TrimSpace(exit.Stderr))
		}
		return "", fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

var packageClause = regexp.MustCompile(`(?m)^package\s+(\w+)`)

// emptyOutputs replaces every generated file in the main modules by an empty file of its
// package, as an overlay.
func emptyOutputs(ctx context.Context, dir string) (map[string][]byte, error) {
	list, err := goOutput(ctx, dir, "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return nil, err
	}
	overlay := map[string][]byte{}
	for root := range strings.SplitSeq(list, "\n") {
		if root == "" {
			continue // the package is outside of all modules
		}
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() {
				if path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || isModule(path)) {
					return filepath.SkipDir
				}
				return nil
			}
			if !annotations.IsOutputName(d.Name()) {
				return nil
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if m := packageClause.FindSubmatch(text); m != nil && isOurs(text) {
				overlay[path] = fmt.Appendf(nil, "package %s\n", m[1])
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("look for generated files: %w", err)
		}
	}
	return overlay, nil
}

func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// isOurs reports whether intragen wrote a file with this text.
func isOurs(text []byte) bool {
	_, ok := annotations.GeneratedFrom(text[:min(len(text), 1024)])
	return ok
}
