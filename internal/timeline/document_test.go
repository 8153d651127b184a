package timeline

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/timeline/traceformat"
)

var codeSpan = regexp.MustCompile("`([^`]+)`")

// documented are the kinds in docs/timeline.md, with the arguments of each.
func documented(t *testing.T) map[string][]string {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "timeline.md"))
	require.NoError(t, err)
	kinds, in := make(map[string][]string), false
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		switch {
		case strings.HasPrefix(line, "| kind |"):
			in = true
		case in && len(cells) == 5 && !strings.HasPrefix(line, "| ---"):
			args := []string{}
			for _, m := range codeSpan.FindAllStringSubmatch(cells[3], -1) {
				args = append(args, m[1])
			}
			kinds[strings.TrimSpace(cells[1])] = args
		}
	}
	return kinds
}

// requireDocumented requires that docs/timeline.md lists all kinds and their arguments. f
// is a timeline with events of all kinds.
func requireDocumented(t *testing.T, f *traceformat.File) {
	found := make(map[string]map[string]bool)
	for _, e := range f.Events {
		kind := e.Cat
		if e.Phase == "C" {
			kind = "memory"
		}
		if e.Phase == "M" {
			continue
		}
		if found[kind] == nil {
			found[kind] = make(map[string]bool)
		}
		for key := range e.Args {
			found[kind][key] = true
		}
	}
	doc := documented(t)
	require.Equal(t, slices.Sorted(maps.Keys(found)), slices.Sorted(maps.Keys(doc)))
	for kind, args := range doc {
		require.ElementsMatch(t, slices.Collect(maps.Keys(found[kind])), args, kind)
	}
}
