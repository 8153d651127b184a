//go:build system

package systemtest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

const kindsFolder = "internal/testkit/systemtest/kinds"

// rightKinds are the programs of kinds that run correctly with replicas.
const rightKinds = "named around heaped sorted deleted shifted deferred promoted arrayPointer asBytes pulls several inTable paired recursive linked pingPong " +
	"adder composed power polynomial methodValue worker workerFunction adapter choice functions memo " +
	"prefixSum sectionForEachBlock foldedThenUsed halosBefore readOnlyInSection twoArrays counts " +
	"farmOfSections guidedChunks stealing server bestBound tokenRing " +
	"strided rows byReflection littleEndian inList setters throughChannel goroutines asComplex asArrays ofOneCall leavesFirst twoNames " +
	"curried byName interpolated pooled fixedPoint inParts throughText byExpression recovers " +
	"backwards evenThenOdd countedBefore scanOfSums ownSums fromOtherArray doubling " +
	"waitSome testSome testAny testEach probes polls onDuplicate twoMasters agreedOrder cancelsLast synchronous shortestPath"

// Programs that alias, carry, call functions, and give work to the rank that asks first
// are correct with any number of replicas, whichever of them die, and in checked mode.
func TestKindsOfPrograms(t *testing.T) {
	t.Parallel()
	right := strings.Fields(rightKinds)
	run := func(t *testing.T, flags, program string) jobtest.Result {
		r := jobtest.Run(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: strings.Fields(flags), Program: append([]string{program}, right...)})
		require.Zero(t, r.Code, r.Stderr)
		return r
	}
	want := run(t, "-n 3 -r 1", binaries.Plain(t, kindsFolder)).Stdout
	require.Equal(t, len(right), strings.Count(want, "\n"))
	for _, flags := range jobtest.Some([]string{
		"-degrees 3,1,2 -kill 0.0@task:40 -kill 0.2@message:90 -kill 2.0@update:60",
		"-degrees 1,2,1 -check",
		"-n 3 -r 1",
		"-n 3 -r 2",
		"-n 3 -r 2 -link tcp -kill 0.1@message:200 -kill 1.0@task:100 -kill 2.1@section:50",
		"-n 3 -r 3 -sched static",
		"-n 3 -r 3 -kill 0.0@message:300 -kill 0.1@message:400 -kill 1.2@update:30",
		"-n 3 -r 1 -check",
		"-n 3 -r 2 -check",
		"-n 3 -r 3 -check -kill 0.0@section:9",
	}, 0, 1) {
		t.Run(flags, func(t *testing.T) {
			t.Parallel()
			r := run(t, flags, binaries.Program(t, kindsFolder))
			require.Equal(t, want, r.Stdout)
			if !strings.Contains(flags, "-check") { // with -check the kill points are at other places
				r.Summary(t).RequireFired(t)
			}
		})
	}
}

// Wrong programs of the same kinds end with exit code 4 or are found by checked mode, with
// the true reason. With -r 1 -check some are not found, and a note states that.
func TestWrongKindsOfPrograms(t *testing.T) {
	t.Parallel()
	const (
		each  = "-n 3 -r 1 -check"
		alone = "-n 1 -r 1 -check"
		pair  = "-n 1 -r 2 -check"
		again = `out(y) element 0 differs between two runs from the same state`
	)
	for name, tt := range map[string]struct {
		flags string
		code  int
		want  string
	}{
		"sequence":          {each, 1, `in(f) leads to f.n, which the body changes each time that it runs`},
		"recorder":          {each, 1, `in(f) leads to f.seen, which the body changes each time that it runs`},
		"noise":             {each, 1, `in(f) leads to f.r.src`},
		"previous":          {each, 1, `differs between two runs from the same state`},
		"chosenSequence":    {each, 1, `in(f) leads to f.positive.n, which the body changes each time`},
		"toggle":            {each, 1, `out(y) element 0 differs between two runs from the same state`},
		"toggleIn":          {each, 1, `out(y) element 0 differs between two runs from the same state`},
		"counter":           {"-n 3 -r 2 -check", 4, `in(by)`},
		"early":             {each, 1, `in(before) element 0 was read too early: it is what element 8 of inout(v) of`},
		"earlyCount":        {each, 1, `in(before) element 0 was read too early: it is what element 8 of inout(v) of`},
		"earlySum":          {each, 1, `in(before) element 0 was read too early: it is what element 0 of reduce(sum) of`},
		"earlyComputed":     {"-n 3 -r 2 -check", 4, `until a section ends, each replica holds something else in what its tasks write, such as out(y) of`},
		"refilled":          {each, 1, `in(x) element 0 was written between the launch and the end of the section`},
		"earlyWrite":        {each, 1, `out(y) element 0 was written between the launch and the end of the section`},
		"wrongAssertion":    {"-n 3 -r 2", 4, `AssertSendDeterministic`},
		"ownReplica":        {"-n 3 -r 2", 4, `differed on replicas 0 and 1`},
		"orderKeptInMemory": {"-n 3 -r 2", 4, `differed on replicas 0 and 1`},

		"writesIn":     {alone, 1, `in(x) element 0 is written by the body: move it to inout(x)`},
		"swapsIn":      {alone, 1, `in(x) element 0 is written by the body: move it to inout(x)`},
		"readsOut":     {alone, 1, `out(y) element 4 is read before it is written: make it inout(y)`},
		"addsToOut":    {alone, 1, `out(y) element 0 is read before it is written: make it inout(y)`},
		"writesBeyond": {alone, 1, `the body writes element 8 of inout(y) of task 5`},
		"appends":      {alone, 1, `the body writes element 0 of inout(y) of task`},
		"appendsToIn":  {alone, 1, `the body writes element 0 of in(x) of task`},
		"writesOther":  {pair, 4, `line 1 of the standard output differs`},
		"readsOther":   {alone, 1, `the body reads element 8 of y, which task 5`},
		"keepsPlace":   {alone, 1, `the body writes element 0 of out(y) of task`},
		"overlapping":  {"-n 1 -r 1", 1, `tasks 0 and 1 are not independent: inout(y) of one and inout(y) of the other share 8 bytes`},
		"ofTheNext":    {"-n 1 -r 1", 1, `tasks 0 and 5 are not independent: inout(y) of one and in(x) of the other share 8 bytes`},

		"inMapOrder":  {alone, 1, `differs between two runs from the same state: compute from the arguments only`},
		"clock":       {alone, 1, again},
		"globalNoise": {alone, 1, again},
		"atomicCount": {alone, 1, again},
		"rotates":     {alone, 1, again},
		"generator":   {alone, 1, again},
		"sumSoFar":    {alone, 1, again},

		"earlyFold":      {pair, 4, `until a section ends, each replica holds something else in what its tasks write`},
		"earlyChoice":    {pair, 4, `until a section ends, each replica holds something else in what its tasks write`},
		"earlyByName":    {alone, 1, `in(before) element 0 was read too early: it is what element 8 of inout(v) of`},
		"earlyKept":      {pair, 4, `line 1 of the standard output differs`},
		"changesLater":   {alone, 1, `inout(v) element 0 was written between the launch and the end of the section`},
		"changesEarlier": {alone, 1, `inout(v) element 8 was written between the launch and the end of the section`},
		"edges":          {"-n 1 -r 1", 1, `tasks 0 and 1 are not independent: inout(y) of one and in(x) of the other share 8 bytes`},
		"onePlace":       {alone, 1, `in(x) element 0 was written between the launch and the end of the section`},

		"clockDecides":    {"-n 2 -r 2", 4, `differed on replicas 0 and 1`},
		"addressDecides":  {"-n 2 -r 2", 4, `differed on replicas 0 and 1`},
		"mapDecides":      {"-n 2 -r 2", 4, `differed on replicas 0 and 1`},
		"selectDecides":   {"-n 2 -r 2", 4, `differed on replicas 0 and 1`},
		"moreMessages":    {"-n 2 -r 2 -diverge off", 4, `to rank 1 (replica 0: none, replica 1: `}, // any of its messages may be named, because the reports arrive in any order
		"earlierMessage":  {"-n 2 -r 2", 4, `differed on replicas 0 and 1`},
		"fewerMessages":   {"-n 2 -r 2 -stuck 2s", 4, `divergence of replicas of rank 0: 0.0 never leaves Recv from 1 tag `},
		"assertedTest":    {"-n 2 -r 2", 4, `AssertSendDeterministic`},
		"assertedWaitAny": {"-n 2 -r 2", 4, `AssertSendDeterministic`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := jobtest.Run(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: strings.Fields(tt.flags), Program: []string{binaries.Program(t, kindsFolder), name}})
			require.Equal(t, tt.code, r.Code, r.Stderr)
			require.Contains(t, r.Stderr, tt.want)
		})
	}
	t.Run("a value computed too early", func(t *testing.T) {
		t.Parallel()
		r := jobtest.Run(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: strings.Fields(each), Program: []string{binaries.Program(t, kindsFolder), "earlyComputed"}})
		require.Zero(t, r.Code, r.Stderr)
		require.Contains(t, r.Stderr, "-r 2 -check does")
	})
}
