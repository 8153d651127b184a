package docs

import (
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// module is the prefix of all packages except the one at the root, which the table calls
// ".".
const module = "github.com/intrahpc/intra/"

var floorRow = regexp.MustCompile(`^\| (\d+) \| ([^|]+) \|`)

// The table in docs/architecture.md lists the floor of each package. Imports go downwards:
// no package imports one of its own floor or above.
func TestFloors(t *testing.T) {
	floors := make(map[string]int)
	d := find(t, "docs/architecture.md")
	for _, line := range d.prose {
		if m := floorRow.FindStringSubmatch(line); m != nil {
			n, err := strconv.Atoi(m[1])
			require.NoError(t, err)
			for _, name := range spans.FindAllStringSubmatch(m[2], -1) {
				require.NotContains(t, floors, name[1], "twice")
				floors[name[1]] = n
			}
		}
	}
	require.Greater(t, len(floors), 35)

	cmd := exec.Command("go", "list", "-tags", "intra", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", "./...")
	cmd.Dir, cmd.Stderr = root, t.Output() // standard error lists the modules that the command fetches
	out, err := cmd.Output()
	require.NoError(t, err)
	named := make(map[string]bool)
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		p := place(floors, words[0])
		require.NotEmpty(t, p, "%s is on no floor", words[0])
		named[p] = true
		for _, imported := range words[1:] {
			if !strings.HasPrefix(imported+"/", module) {
				continue
			}
			if q := place(floors, imported); q != p {
				require.Less(t, floors[q], floors[p], "%s imports %s", words[0], imported)
			}
		}
	}
	for name := range floors {
		require.Contains(t, named, name, "there is no such package")
	}
}

// Packages that other modules use without the rest of this module import no package of
// this module, except for those listed here.
func TestPackagesThatStandAlone(t *testing.T) {
	for name, knows := range map[string][]string{
		"sched": nil, "transport": nil,
		"annotations": {"internal/base/clauses"},                                                      // programs compute fingerprints of clauses, too
		"kernels":     {"kernels/internal/bridge", "kernels/internal/simd", "internal/base/hugepage"}, // large pages are requested in one place
	} {
		cmd := exec.Command("go", "list", "-f", "{{join .Imports \" \"}}", "./"+name)
		cmd.Dir = root
		out, err := cmd.Output()
		require.NoError(t, err)
		var ours []string
		for _, p := range strings.Fields(string(out)) {
			if p, ok := strings.CutPrefix(p, module); ok {
				ours = append(ours, p)
			}
		}
		require.ElementsMatch(t, knows, ours, name)
	}
}

// place returns the entry of the table for a package, "" if there is none.
func place(floors map[string]int, path string) string {
	if path+"/" == module {
		path = "."
	}
	for name := strings.TrimPrefix(path, module); ; {
		if floors[name] > 0 {
			return name
		}
		i := strings.LastIndexByte(name, '/')
		if i < 0 {
			return ""
		}
		name = name[:i]
	}
}
