package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var verb = regexp.MustCompile(`%(%|[-+#0]*[\d.]*(?:\[\d+\])?[\d.]*[a-zA-Z])`)

// texts returns the strings in the sources of this module, with … in place of formatted
// values. Strings joined by + count as one.
func texts(t *testing.T) (all []string) {
	t.Helper()
	add := func(s string) {
		all = append(all, verb.ReplaceAllStringFunc(s, func(v string) string {
			if v == "%%" {
				return "%"
			}
			return "…"
		}))
	}
	require.NoError(t, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (strings.HasPrefix(e.Name(), ".") || e.Name() == "testdata" || e.Name() == "systemtest"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok {
				if s, ok := joined(e); ok {
					add(s)
					return false
				}
			}
			return true
		})
		return nil
	}))
	require.Greater(t, len(all), 5000)
	return all
}

// joined returns the value of a literal, or of several literals joined by +.
func joined(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		s, err := strconv.Unquote(e.Value)
		return s, err == nil
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			x, ok := joined(e.X)
			y, yes := joined(e.Y)
			return x + y, ok && yes
		}
	}
	return "", false
}

// Messages in the tables of the page about troubles must occur in the sources.
func TestMessagesExist(t *testing.T) {
	all := texts(t)
	checked, table := 0, false
	for _, line := range find(t, "docs/troubles.md").prose {
		if !strings.HasPrefix(line, "|") {
			table = false
			continue
		}
		cell := strings.TrimSpace(strings.Split(line, "|")[1])
		if cell == "message" {
			table = true
			continue
		}
		if !table || strings.HasPrefix(cell, "---") {
			continue
		}
		message := strings.Trim(cell, "`")
		require.Equal(t, "`"+message+"`", cell, "a message stands between backquotes")
		pieces := strings.Split(message, "…")
		for i := range pieces {
			pieces[i] = regexp.QuoteMeta(strings.TrimSpace(pieces[i]))
		}
		pattern := regexp.MustCompile(strings.Join(pieces, `.*`))
		require.Greater(t, len(strings.ReplaceAll(message, "…", "")), 12, message)
		found := false
		for _, s := range all {
			found = found || pattern.MatchString(s)
		}
		require.True(t, found, "no source has the message %q", message)
		checked++
	}
	require.Greater(t, checked, 40)
}
