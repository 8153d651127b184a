package checked_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/internal/checked/testdata/wrong"
	"github.com/intrahpc/intra/internal/job"
)

// Checked mode finds the errors of the programs of testdata/wrong. Each finding names the
// place of the directive and the cure. Without checks all programs end without an error.
func TestWrongPrograms(t *testing.T) {
	tests := map[string]struct {
		want []string // texts in the only finding
		pair []string // texts in the finding in a job of two replicas, if they differ
	}{
		"the last element of a block": {want: []string{
			"wrong/programs.go:36: task github.com/intrahpc/intra/internal/checked/testdata/wrong.double (//intra:task at kernels.go:10): ",
			"the body writes element 23 of y, and out(y[lo:hi-1]) names elements 0 to 22: name it in inout or out, or keep to the block"}},
		"the last element of an array": {want: []string{"(//intra:task at kernels.go:10): the body writes element 95 of y, and out(y[lo:hi-1]) names elements 0 to 94: "}},
		"the element before a block": {want: []string{
			"(//intra:task at kernels.go:19): the body writes element 23 of inout(y[lo:hi]) of task 0 (github.com/intrahpc/intra/internal/checked/testdata/wrong.shift, launched at wrong/programs.go:"}},
		"the element before the only block": {want: []string{"the body writes element 4 of y, and inout(y[lo:hi]) names elements 5 to 95: "}},
		"behind the end of a slice": {want: []string{"(//intra:task at kernels.go:39): the body writes element 95 of w, and out(w) names elements 0 to 94: "},
			pair: []string{}}, // replicas that share one memory may have another array beyond the end
		"the element behind a window": {want: []string{"(//intra:task at kernels.go:", "wrong.halo ",
			"the body reads element 25 of x, and in(x[lo:min(hi+1, len(x))]) names elements 0 to 24: name it in in, or keep to the part"},
			pair: []string{}}, // replicas that share one memory may share the vector
		"an element between two parts": {want: []string{"wrong.ends ", "the body reads element 12 of x, and in(x[lo:lo+1]) names elements 0 to 0: "}, pair: []string{}},
		"an element of another column": {want: []string{"wrong.corner ", "the body reads element 6 of x, and in(x[0:3, 1:2:4]) names elements 1 to 1: "}, pair: []string{}},
		"a task reads the block of another task": {want: []string{
			"(//intra:task at kernels.go:29): the body reads element 23 of y, which task 0 (github.com/intrahpc/intra/internal/checked/testdata/wrong.smooth, launched at wrong/programs.go:",
			"has in inout(y[lo:hi]): what it finds there depends on who runs which task when; read it from a copy that is made before the section"},
			pair: []string{"(//intra:task at kernels.go:29): the body reads element ", "has in inout(y[lo:hi]): what it finds there depends"}}, // the finding concerns either task
		"results of another task are read through a pointer": {want: []string{
			"(//intra:task at kernels.go:52): the body reads element ", " of m.z, which task ", "has in out(m.z[lo:hi]): "}},
		"scratch is read by the next section": {want: []string{
			"wrong.scale (//intra:task at kernels.go:71): in(s) element 0 is read, and is what github.com/intrahpc/intra/internal/checked/testdata/wrong.norm, launched at wrong/programs.go:",
			"has left in scratch(work): ",
			"name it there in out(work), or write it before it is read"}},
		"scratch is read by control code": {pair: []string{
			"in(x) of ", "elements 0 to 5", "scratch(work) of ", "is it used after its section? then name it in out"}},
		"results are read in the section": {want: []string{"wrong.carry ", "in(before) element 0 was read too early: it is what element 1 of out(y) of ",
			"wrong.square, launched at wrong/programs.go:", "held until its section ended: the code of a section cannot read what its tasks write; read it after the section"},
			pair: []string{"diverged", "in(before)", "element 0 was read too early: it is what element 1 of out(y) of "}},
		"results are read and computed with in the section": {pair: []string{"diverged", "in(before)", "until a section ends, each replica holds something else in what its tasks write, such as inout(y) of ", ", or out(y) of "}},
		"a carry from block to block": {want: []string{"wrong.carry ", "in(before) element 0 was read too early: it is what element 23 of inout(y) of "},
			pair: []string{"diverged", "in(before)", "element 0 was read too early: it is what element 23 of inout(y) of "}},
		"a sum is read in the section": {want: []string{"wrong.carry ", "in(before) element 0 was read too early: it is what element 0 of reduce(sum) of ",
			"wrong.total, launched at wrong/programs.go:"},
			pair: []string{"diverged", "in(before)", "element 0 was read too early: it is what element 0 of reduce(sum) of "}},
		"counts are read in the section": {want: []string{"wrong.shrink ", "in(by) element 0 was read too early: it is what element 1 of reduce(signs) of "},
			pair: []string{"diverged", "in(by)", "until a section ends, each replica holds something else in what its tasks write, such as ", "reduce(signs) of "}},
		"a sum is set in the section": {want: []string{"wrong.total ", "reduce(sum) element 0 was written between the launch and the end of the section: write it before the launch or after the section"}},
		"an int is read in the section": {want: []string{"wrong.move ", "in(by) element 0 was read too early: it is what element 1 of out(y) of "},
			pair: []string{"diverged", "in(by)", "until a section ends, each replica holds something else in what its tasks write, such as ", "out(y) of "}},
		"a carry of ints": {want: []string{"wrong.move ", "in(by) element 0 was read too early: it is what element 23 of inout(x) of "},
			pair: []string{"diverged", "in(by)", "until a section ends, each replica holds something else in what its tasks write, such as ", "inout(x) of "}},
		"results are written in the section":        {want: []string{"out(y) element 5 was written between the launch and the end of the section"}},
		"a buffer is filled again between launches": {want: []string{"in(x) element 0 was written between the launch and the end of the section: write it before the launch or after the section"}},
		"a function counts its calls":               {want: []string{"wrong.apply (//intra:task at kernels.go:", "in(f) leads to f.calls, which the body changes each time that it runs: "}},
		"a model counts its steps":                  {want: []string{"wrong.advance (//intra:task at kernels.go:", "in(m) leads to m.inner.steps, which the body changes each time that it runs: "}},
		"a model counts atomically":                 {want: []string{"wrong.advance ", "in(m) leads to m.n.v, which the body changes each time that it runs: "}},
		"a model counts in a struct in a map":       {want: []string{"wrong.advance ", "in(m) leads to m.all, which the body changes each time that it runs: "}},
		"a model counts in a map of anything":       {want: []string{"wrong.advance ", "in(m) leads to m, which the body changes each time that it runs: "}},
		"a model counts beyond a part":              {want: []string{"wrong.advance ", "in(m) leads to m.all, which the body changes each time that it runs: "}},
		"a value counts through a pointer":          {want: []string{"wrong.advance ", "in(m) leads to m.n, which the body changes each time that it runs: "}},
		"a model counts in a model":                 {want: []string{"wrong.advance ", "in(m) leads to m.inner.inner.n, which the body changes each time that it runs: "}},
		"one of several models counts":              {want: []string{"wrong.advance ", "in(m) leads to m[1].n.v, which the body changes each time that it runs: "}},
		"an array of pointers counts":               {want: []string{"wrong.advance ", "in(m) leads to m[1], which the body changes each time that it runs: "}},
		"the end of a chain counts":                 {want: []string{"wrong.advance ", "in(m) leads to m" + strings.Repeat(".next", 100) + ".n, which the body changes each time that it runs: "}},
		"a generic function counts":                 {want: []string{"wrong.applyAny ", "in(f) leads to f.calls, which the body changes each time that it runs: "}},
		"a writer keeps bytes":                      {want: []string{"wrong.tell ", "in(w) leads to w.all, which the body changes each time that it runs: "}},
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(wrong.Programs)), slices.Collect(maps.Keys(tests)))
	for name, tt := range tests {
		run := wrong.Programs[name]
		t.Run(name, func(t *testing.T) {
			for _, replicas := range []int{1, 2} {
				t.Run(fmt.Sprint(replicas), func(t *testing.T) {
					require.NoError(t, intra.Run(t.Context(), intra.Spec{Replicas: 1}, run), "without checks")
					want := tt.want
					if replicas == 2 && tt.pair != nil {
						want = tt.pair
					}
					err := intra.Run(t.Context(), intra.Spec{Replicas: replicas, Check: true}, run)
					if len(want) == 0 {
						require.NoError(t, err)
					}
					for _, part := range want {
						require.ErrorContains(t, err, part)
					}
				})
			}
		})
	}
}

// TestWorkMemoryBehindAnArgumentIsAccepted runs a body that leaves the same contents
// behind an argument after each run. So that memory holds no state.
func TestWorkMemoryBehindAnArgumentIsAccepted(t *testing.T) {
	for _, replicas := range []int{1, 2} {
		require.NoError(t, intra.Run(t.Context(), intra.Spec{Replicas: replicas, Check: true}, wrong.Right))
	}
}

// TestBoundsAreReported requires the details that checked mode reports with -v. For each place, it
// reports once that it has followed only a part of the memory behind an argument. For a rank with
// one replica, it also reports that some values are not followed.
func TestBoundsAreReported(t *testing.T) {
	for _, replicas := range []int{1, 2} {
		var local job.Local
		require.NoError(t, intra.Run(job.WithLocal(t.Context(), &local), intra.Spec{Replicas: replicas, Check: true}, wrong.Bounded))
		for p, stats := range local.Stats {
			require.Len(t, stats.Details, 2, p)
			require.Regexp(t, `^wrong/programs.go:\d+: in\(m\) of \S+wrong.advance leads to more than 1 MiB or 4096 pieces: checked mode has followed only the first, up to m.rows\[13\]$`, stats.Details[0])
			require.Regexp(t, `^wrong/programs.go:\d+: in\(f\) of \S+wrong.apply leads to more than 1 MiB or 4096 pieces: checked mode has followed only the first, up to f.chain(.next)+(.n)?$`, stats.Details[1])
			if replicas == 1 {
				require.Equal(t, []string{"checked mode with one replica of a rank does not follow what the code of a section computes from memory that its tasks write: -r 2 -check does"}, stats.Notes)
			} else {
				require.Empty(t, stats.Notes)
			}
		}
	}
}

func TestMemoryThatTasksNameIsNotFollowed(t *testing.T) {
	var local job.Local
	require.NoError(t, intra.Run(job.WithLocal(t.Context(), &local), intra.Spec{Replicas: 1, Check: true}, wrong.Large))
	for p, stats := range local.Stats {
		require.Empty(t, stats.Details, p)
	}
}

func TestReductionsAreUsedAroundSections(t *testing.T) {
	for _, replicas := range []int{1, 2, 3} {
		require.NoError(t, intra.Run(t.Context(), intra.Spec{Replicas: replicas, Check: true}, wrong.Folds))
		require.NoError(t, intra.Run(t.Context(), intra.Spec{Replicas: replicas}, wrong.Folds))
	}
}

func TestTasksMayShareScratch(t *testing.T) {
	for _, replicas := range []int{1, 2} {
		require.NoError(t, intra.Run(t.Context(), intra.Spec{Replicas: replicas, Check: true}, wrong.Shares))
	}
}
