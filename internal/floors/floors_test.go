package floors

import (
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/intrahpc/intra/"

// floor is some packages of one kind. A package knows those of the floors below,
// and those that stand before it on its own.
type floor struct {
	name     string
	packages []string // the ones behind a /... may know each other
}

// floors are those of this module, the lowest first.
var floors = []floor{
	{"the machine", []string{
		"internal/hugepage", "internal/cores", "internal/lease", "internal/proc", "internal/needs", "internal/netns",
	}},
	{"rules, without clock and I/O", []string{
		"annotations", "sched", "internal/section", "internal/direct", "internal/detect", "internal/seeds", "internal/simulation",
	}},
	{"arrays", []string{
		"kernels/internal/simd", "kernels/asm", "kernels", "kernels/matrix", "kernels/bench", "internal/stream", "internal/arena",
	}},
	{"links and messages", []string{
		"transport", "transport/internal/queue", "transport/inproc", "transport/limit", "transport/shm", "transport/tcp", "transport/linktest",
		"transport/sdr", "transport/sdr/sdrtest", "update", "comm", "comm/commtest",
	}},
	{"what a job is, and what is decided about it", []string{
		"internal/checkpoint", "internal/job", "internal/recovery", "internal/arbiter",
	}},
	{"what programs import", []string{
		"runtime", "intratest",
	}},
	{"the parts of the launcher", []string{
		"internal/output", "internal/watchdog", "internal/agentwire", "internal/runreport", "internal/supervise", "internal/spawn", "internal/agentd",
	}},
	{"the launcher", []string{
		"internal/launch",
	}},
	{"commands, examples and tests of all of it", []string{
		"cmd/...", "examples/...", "internal/floors", "internal/jobtest/...", "internal/systemtest/...",
	}},
}

// alone are packages that others use without the rest of this module. They know
// no other package of it, with these exceptions.
var alone = map[string][]string{
	"annotations": nil,
	"sched":       nil,
	"transport":   nil,
	"kernels": {
		"kernels/internal/simd",
		"internal/hugepage", // Alloc asks the system for huge pages, as the runtime does for its arrays: one place knows how
	},
}

func TestImportsGoDownwards(t *testing.T) {
	for _, tags := range []string{"", "intra"} {
		imports := list(t, tags)
		require.Greater(t, len(imports), 50)
		for importer, all := range imports {
			at, known := stand(importer)
			if !known {
				t.Errorf("%s stands on no floor: add it to the one that it belongs to", importer)
				continue
			}
			for _, imported := range all {
				below, known := stand(imported)
				if known && !at.above(below) {
					t.Errorf("%s (%s) imports %s (%s), which is not below it", importer, floors[at.floor].name, imported, floors[below.floor].name)
				}
			}
		}
	}
}

func TestPackagesThatStandAlone(t *testing.T) {
	imports := list(t, "")
	for p, exceptions := range alone {
		require.Contains(t, imports, p)
		require.Subset(t, exceptions, imports[p], "%s is used without the rest of this module", p)
		require.Subset(t, imports[p], exceptions, "%s needs no exception for these any more", p)
	}
}

// place is where a package stands. Those behind the same /... stand together.
type place struct {
	floor, number int
	together      bool
}

func (p place) above(q place) bool {
	return p.floor > q.floor || p.floor == q.floor && (p.number > q.number || p == q && p.together)
}

func stand(p string) (place, bool) {
	for i, f := range floors {
		for j, pattern := range f.packages {
			folder, together := strings.CutSuffix(pattern, "...")
			if p == pattern || together && strings.HasPrefix(p+"/", folder) {
				return place{i, j, together}, true
			}
		}
	}
	return place{}, false
}

// list returns what each package of this module imports of it.
func list(t *testing.T, tags string) map[string][]string {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-tags="+tags, "-f", "{{.ImportPath}} {{join .Imports \" \"}}", module+"...")
	out, err := cmd.Output()
	require.NoError(t, err)
	imports := make(map[string][]string)
	for line := range strings.Lines(string(out)) {
		all := strings.Fields(line)
		ours := all[1:]
		ours = slices.DeleteFunc(ours, func(p string) bool { return !strings.HasPrefix(p, module) })
		for i, p := range ours {
			ours[i] = strings.TrimPrefix(p, module)
		}
		imports[strings.TrimPrefix(all[0], module)] = ours
	}
	return imports
}

// No package is listed twice, and none that is not there.
func TestFloorsAreThere(t *testing.T) {
	imports := list(t, "")
	seen := make(map[string]bool)
	for _, f := range floors {
		for _, p := range f.packages {
			require.False(t, seen[p], p)
			seen[p] = true
			if folder, together := strings.CutSuffix(p, "/..."); together {
				within := func(q string) bool { return strings.HasPrefix(q+"/", folder+"/") }
				require.True(t, slices.ContainsFunc(slices.Collect(maps.Keys(imports)), within), p)
				continue
			}
			require.Contains(t, imports, p)
		}
	}
}
