//go:build system

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPrograms builds and runs a program, and repeats that after each edit of its sources.
func TestPrograms(t *testing.T) {
	dir := newModule(t, map[string]string{"kernels.go": userKernels, "main.go": userMain})
	code, _, stderr := intragen(t, dir)
	require.Zero(t, code, stderr)
	require.Equal(t, userOutput, mustRun(t, dir, "go", "run", "."))
	mustRun(t, dir, "go", "build", "-o", "user", "-tags", "intra", ".")
	require.Equal(t, userOutput, mustRun(t, dir, "./user"))

	t.Run("an edited body takes effect in both builds", func(t *testing.T) {
		writeFiles(t, dir, map[string]string{"kernels.go": strings.Replace(userKernels, "a * v", "a*v + 1", 1)})
		code, stdout, _ := intragen(t, dir, "-check")
		require.Zero(t, code, stdout)
		want := "[1 4 7 10 13 16 19 22 25 28]\n"
		require.Equal(t, want, mustRun(t, dir, "go", "run", "."))
		require.Equal(t, want, mustRun(t, dir, "go", "run", "-tags", "intra", "."))
	})

	t.Run("an edited signature does not compile until it is generated again", func(t *testing.T) {
		text := strings.Replace(userKernels, "a float64, x, y", "x, y", 1)
		text = strings.Replace(strings.Replace(text, "in(a, x)", "in(x)", 1), "a * v", "2 * v", 1)
		writeFiles(t, dir, map[string]string{"kernels.go": text, "main.go": strings.Replace(userMain, "scale(3, x", "scale(x", 1)})
		out, err := command(t, dir, "go", "build", ".")
		require.Error(t, err)
		require.Contains(t, out, "kernels_intra.go:")
		code, _, stderr := intragen(t, dir)
		require.Zero(t, code, stderr)
		require.Equal(t, "[0 2 4 6 8 10 12 14 16 18]\n", mustRun(t, dir, "go", "run", "-tags", "intra", "."))
	})

	t.Run("edited clauses refuse the program at its start until it is generated again", func(t *testing.T) {
		text, twin := readFile(t, dir, "kernels.go"), readFile(t, dir, "kernels_intra.go")
		defer writeFiles(t, dir, map[string]string{"kernels.go": text, "kernels_intra.go": twin})
		want := mustRun(t, dir, "go", "run", "-tags", "intra", ".")
		writeFiles(t, dir, map[string]string{"kernels.go": strings.Replace(strings.Replace(text, "out(y)", "inout(y)", 1), "y[i] =", "y[i] +=", 1)})
		out, err := command(t, dir, "go", "run", "-tags", "intra", ".")
		require.Error(t, err)
		require.Contains(t, out, "kernels_intra.go is out of date: run go generate")
		require.Equal(t, want, mustRun(t, dir, "go", "run", "."), "the plain build always follows the sources")

		tool := filepath.Join(t.TempDir(), "intravet")
		mustRun(t, repository(t), "go", "build", "-o", tool, "./cmd/intravet")
		out, err = command(t, dir, tool, ".")
		require.Error(t, err)
		require.Contains(t, out, "kernels.go:1:9: kernels_intra.go is out of date, clauses or signatures have changed since: run go generate")
		code, stdout, _ := intragen(t, dir, "-check")
		require.Equal(t, 1, code)
		require.Contains(t, stdout, "kernels_intra.go: stale")

		code, _, stderr := intragen(t, dir)
		require.Zero(t, code, stderr)
		require.Equal(t, want, mustRun(t, dir, "go", "run", "-tags", "intra", "."))
		require.Empty(t, mustRun(t, dir, tool, "."))
	})

	t.Run("a stale twin ends the program at its start", func(t *testing.T) {
		writeFiles(t, dir, map[string]string{"main.go": readFile(t, dir, "main.go") + "\n// edited\n"})
		out, err := command(t, dir, "go", "run", "-tags", "intra", ".")
		require.Error(t, err)
		require.Contains(t, out, "main_intra.go is out of date: run go generate")
	})
}

// TestHandwrittenLaunches covers calls of launchers that do not exist yet, in two packages,
// and a kernel of a module for which intragen was never run.
func TestHandwrittenLaunches(t *testing.T) {
	dir := newModule(t, map[string]string{
		"other/go.mod": "module example.org/other\n\ngo 1.26\n",
		"other/other.go": `package other

//intra:task inout(x)
func Double(x []float64) {
	for i := range x {
		x[i] *= 2
	}
}
`,
		"kern/kern.go": `package kern

//intra:task inout(x)
func Add(x []float64) {
	for i := range x {
		x[i]++
	}
}
`,
		"main.go": `package main

import (
	"fmt"

	"github.com/intrahpc/intra"

	"example.org/user/kern"
)

//intra:task in(x) reduce(+: sum)
func total(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum
}

func main() {
	intra.Main(func(p *intra.Process) error {
		x, sum := make([]float64, 8), 0.0
		s := p.Section()
		for lo, hi := range intra.Blocks(len(x), p.Tasks()) {
			kern.LaunchAdd(s, x[lo:hi])
		}
		if err := s.End(); err != nil {
			return err
		}
		s = p.Section()
		launchTotal(s, x, &sum)
		if err := s.End(); err != nil {
			return err
		}
		twice(p, x)
		fmt.Println(sum, x[0])
		return nil
	})
}
`,
		"twice.go": `//go:build !intra

package main

import (
	"example.org/other"
	"github.com/intrahpc/intra"
)

func twice(p *intra.Process, x []float64) {
	//intra:section on(p)
	for lo, hi := range intra.Blocks(len(x), p.Tasks()) {
		other.Double(x[lo:hi])
	}
}
`,
	})
	mustRun(t, dir, "go", "mod", "edit", "-require=example.org/other@v0.0.0", "-replace=example.org/other=./other")
	code, _, stderr := intragen(t, dir, "./...")
	require.Zero(t, code, stderr)
	require.Contains(t, readFile(t, dir, "twice_intra.go"), `intra.Register("example.org/other.Double [example.org/user/twice.go]")`)
	require.NoFileExists(t, "other/other_intra.go")
	for _, tags := range []string{"", "intra"} {
		require.Equal(t, "8 2\n", mustRun(t, dir, "go", "run", "-tags", tags, "."))
	}
}

// TestState covers state types of two packages, whose methods are called before they exist,
// and the edit of a struct.
func TestState(t *testing.T) {
	files := map[string]string{
		"mesh/mesh.go": `package mesh

//intra:state
type Mesh[T ~float64] struct {
	X []T
}
`,
		"main.go": `package main

import (
	"fmt"

	"example.org/user/mesh"
	"github.com/intrahpc/intra"
)

//intra:state
type sim struct {
	mesh mesh.Mesh[float64]
	iter int
}

func main() {
	intra.Main(func(p *intra.Process) error {
		var s sim
		s.Protect(p, "sim")
		s.mesh.Protect(p, "again")
		intra.Protect(p, "sim.mesh.X", &s.iter)
		fmt.Println(p.SafePoint())
		return nil
	})
}
`,
	}
	dir := newModule(t, files)
	code, _, stderr := intragen(t, dir, "-v", "./...")
	require.Zero(t, code, stderr)
	require.Equal(t, "main_intra.go: written\nmesh/mesh_intra.go: written\n", stderr)
	want := filepath.Base(dir) + "/main.go:21: intra.Protect(\"sim.mesh.X\"): the name is taken already\n"
	for _, tags := range []string{"", "intra"} {
		require.Equal(t, want, mustRun(t, dir, "go", "run", "-tags", tags, "."))
	}

	writeFiles(t, dir, map[string]string{"mesh/mesh.go": strings.Replace(files["mesh/mesh.go"], "X []T", "X, Y []T", 1)})
	out, err := command(t, dir, "go", "build", ".")
	require.Error(t, err, "a new field does not compile before regeneration")
	require.Contains(t, out, "mesh/mesh_intra.go:")
	code, _, stderr = intragen(t, dir, "./...")
	require.Zero(t, code, stderr)
	require.Equal(t, want, mustRun(t, dir, "go", "run", "."))

	writeFiles(t, dir, map[string]string{"mesh/mesh.go": strings.Replace(files["mesh/mesh.go"], "//intra:state\n", "", 1)})
	code, _, stderr = intragen(t, dir, "./...")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "main.go:12:2: field mesh of sim cannot be saved: its field X has type []float64, which holds pointers; leave it out with //intra:state skip(mesh) if it can be made again, or give example.org/user/mesh.Mesh[float64] //intra:state or the methods")
}
