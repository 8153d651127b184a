//go:build system

package clauses

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

var binaries jobtest.Binaries

func TestMain(m *testing.M) { os.Exit(binaries.Main(m)) }

// usual is the default number of kernels that the test makes.
const usual = 60

// TestRandomKernels makes a program of 60 kernels. Between their sections the ranks
// exchange messages. INTRA_PROGRAMS=N makes N kernels in programs of 200, INTRA_SEED=S
// begins with another seed.
func TestRandomKernels(t *testing.T) {
	number := func(name string, otherwise uint64) uint64 {
		if n, err := strconv.ParseUint(os.Getenv(name), 10, 64); err == nil {
			return n
		}
		return otherwise
	}
	seed, left := number("INTRA_SEED", 1), int(number("INTRA_PROGRAMS", usual))
	for ; left > 0; seed++ {
		n := min(left, 200)
		left -= n
		t.Run(fmt.Sprint("INTRA_SEED=", seed), func(t *testing.T) { checkKernels(t, seed, n) })
	}
}

var refusal = regexp.MustCompile(`(?m)^\S*kernels\.go:(\d+):\d*:? (.*)$`)

// checkKernels checks n kernels of a seed.
func checkKernels(t *testing.T, seed uint64, n int) {
	dir := module(t)
	var kernels []*kernel
	for i := range n {
		kernels = append(kernels, newKernel(seed, i))
	}
	all := len(kernels)
	for {
		text, lines := files(kernels)
		for name, s := range text {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(s), 0o644))
		}
		out, err := command(t, dir, binaries.Plain(t, "cmd/intragen"))
		if err == nil {
			break
		}
		refused := make(map[*kernel]string)
		for _, m := range refusal.FindAllStringSubmatch(out, -1) {
			line, err := strconv.Atoi(m[1])
			require.NoError(t, err)
			k := at(kernels, lines, line)
			require.NotNil(t, k, m[0])
			refused[k] += m[2] + "\n"
		}
		require.NotEmpty(t, refused, "intragen fails: %s", out)
		kernels = slices.DeleteFunc(kernels, func(k *kernel) bool {
			why, is := refused[k]
			if is && k.wrong == "" {
				t.Errorf("the clauses of this kernel are right, and it is refused: %s%s", why, k.source())
			}
			return is
		})
	}
	refused := all - len(kernels)
	mustRun(t, dir, "go", "build", "-o", "plain", ".")
	mustRun(t, dir, "go", "build", "-tags", "intra", "-o", "shared", ".")
	var right []string
	for _, k := range kernels {
		if k.wrong == "" {
			right = append(right, strconv.Itoa(k.number))
		}
	}
	run := func(flags, program string, cases ...string) jobtest.Result {
		return jobtest.Run(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: strings.Fields(flags), Program: append([]string{filepath.Join(dir, program)}, cases...)})
	}
	alone := run("-n 3 -r 1", "plain", right...)
	require.Zero(t, alone.Code, alone.Stderr)
	random := rand.New(rand.NewPCG(seed, 9))
	kills := fmt.Sprintf("-kill 0.%d@task:%d -kill 1.0@update:%d -kill 1.2@message:%d", random.IntN(2), 1+random.IntN(250), 1+random.IntN(150), 1+random.IntN(300))
	for _, flags := range []string{"-n 3 -r 2 -sched static", "-degrees 2,3,1 -sched static " + kills, "-degrees 2,1,2 -check"} {
		r := run(flags, "shared", right...)
		require.Zero(t, r.Code, "%s: %s", flags, r.Stderr)
		require.Equal(t, strings.Split(alone.Stdout, "\n"), strings.Split(r.Stdout, "\n"), flags)
		require.NotContains(t, r.Stderr, "differ", flags)
		if n >= usual { // programs with fewer kernels may not reach the kill points
			r.Summary(t).RequireFired(t)
		}
	}
	found, harmless := 0, 0
	for _, k := range kernels {
		if k.wrong == "" {
			continue
		}
		r := run(fmt.Sprint("-check -r ", 1+k.number%2), "shared", strconv.Itoa(k.number))
		if r.Code == 0 && k.clause[k.spoilt] == "out" && mustRun(t, dir, "./plain", "harmless", strconv.Itoa(k.number), strconv.Itoa(k.spoilt)) == "true\n" {
			harmless++ // the program overwrites the values that it wrongly reads
			continue
		}
		require.NotZero(t, r.Code, "%s, and neither intragen nor -check says so:\n%s", k.wrong, k.source())
		require.Contains(t, r.Stderr, fmt.Sprintf("kernel%d", k.number), "the reason names another kernel")
		found++
	}
	t.Logf("%d kernels: %d right, %d wrong and refused, %d wrong and found by -check, %d read what they overwrite", n, len(right), refused, found, harmless)
}

// module makes a module that uses this one, in a folder beside it.
func module(t *testing.T) (dir string) {
	dir = t.TempDir()
	root, err := filepath.Abs("../../../..")
	require.NoError(t, err)
	for _, name := range []string{"go.mod", "go.sum"} {
		b, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), b, 0o644))
	}
	mustRun(t, dir, "go", "mod", "edit", "-module=example.org/random", "-replace=github.com/intrahpc/intra="+root, "-require=github.com/intrahpc/intra@v0.0.0")
	return dir
}

func command(t *testing.T, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func mustRun(t *testing.T, dir, name string, args ...string) string {
	out, err := command(t, dir, name, args...)
	require.NoError(t, err, "%s %s: %s", name, strings.Join(args, " "), out)
	return out
}
