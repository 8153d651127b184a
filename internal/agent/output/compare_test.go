package output

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// found returns the difference found between the replicas, "" if there is none.
func (f *forwarder) found() string { return (&Rank{streams: [2]*forwarder{f, f}}).Difference() }

// A difference names the first line in which two replicas differ, whichever replica is ahead.
func TestLinesThatDiffer(t *testing.T) {
	const want = `line 2 of the standard output differs: 0.0 wrote "b 1.5 s", 0.1 wrote "b 1.6 s"`
	mine, theirs := "a\nb 1.5 s\nc\n", "a\nb 1.6 s\nd\n"
	for name, order := range map[string]func(f *forwarder){
		"the speaker first":   func(f *forwarder) { f.give(0, mine); f.give(1, theirs) },
		"the other one first": func(f *forwarder) { f.give(1, theirs); f.give(0, mine) },
		"in pieces": func(f *forwarder) {
			for i := range mine {
				f.give(0, mine[i:i+1])
				f.give(1, theirs[i:i+1])
			}
		},
		"after a death": func(f *forwarder) { f.give(0, mine); f.died(0, nil, false); f.give(1, theirs) },
	} {
		f, out, c := forwarderOn(Stdout, 2)
		order(f)
		require.Equal(t, want, f.found(), name)
		c.Close()
		require.Contains(t, out.String(), mine[:4])
	}
}

// If one replica has written more lines than another, that is reported at the end.
func TestNumbersOfLinesThatDiffer(t *testing.T) {
	for _, texts := range [][2]string{{"a\nb\n", "a\n"}, {"a\n", "a\nb\n"}, {"", "a\n"}} {
		f, _, c := forwarderOn(Stdout, 2)
		for i, text := range texts {
			f.give(i, text)
		}
		require.Empty(t, f.found())
		f.finished(1)
		require.Empty(t, f.found(), "the other replica continues")
		f.finished(0)
		require.Equal(t, fmt.Sprintf("the standard outputs differ: 0.0 wrote %d lines, 0.1 %d",
			strings.Count(texts[0], "\n"), strings.Count(texts[1], "\n")), f.found())
		c.Close()
	}
}

// Replicas that write the same lines never differ. The size of their writes, deaths, and
// rollbacks to the position of another replica make no difference.
func TestSameLinesNeverDiffer(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 16))
		var b strings.Builder
		for i := range 60 {
			fmt.Fprintf(&b, "%d%s\n", i, strings.Repeat("x", rng.IntN(9)))
		}
		text := b.String()
		f, _, c := forwarderOn(Stdout, 3)
		at, dead := make([]int, 3), make([]bool, 3)
		for range 400 {
			i := rng.IntN(3)
			switch {
			case dead[i]:
			case rng.IntN(150) == 0 && !dead[(i+1)%3] && !dead[(i+2)%3]:
				f.died(i, nil, false)
				dead[i] = true
			case rng.IntN(100) == 0 && !dead[(i+1)%3]: // like a rollback or a joiner
				f.resume(i, f.stand((i+1)%3))
				at[i] = at[(i+1)%3]
			default:
				n := min(rng.IntN(20), len(text)-at[i])
				f.give(i, text[at[i]:at[i]+n])
				at[i] += n
			}
		}
		for i := range 3 {
			if !dead[i] {
				f.give(i, text[at[i]:])
				f.finished(i)
			}
		}
		require.Empty(t, f.found(), "seed %d", seed)
		c.Close()
	}
}

// Standard error is not compared: diagnostics may differ.
func TestStandardErrorMayDiffer(t *testing.T) {
	f, _, c := forwarderOn(Stderr, 2)
	defer c.Close()
	f.give(0, "a\n")
	f.give(1, "b\n")
	f.finished(0)
	f.finished(1)
	require.Empty(t, f.found())
}

// A job that rolls back has to write the same lines again. Otherwise the difference is found.
func TestLinesAfterARollback(t *testing.T) {
	for _, test := range []struct {
		name, again, want string
		degree, more      int
	}{
		{"the same", "b\nc\nd\n", "", 2, 0},
		{"another order", "c\nb\nd\n", `rank 7 rolled back and wrote another line 2 of the standard output: "c", before "b"`, 2, 0},
		{"alone", "b\nx\n", `rank 7 rolled back and wrote another line 3 of the standard output: "x", before "c"`, 1, 0},
		{"long ago", "x\n", `rank 7 rolled back and wrote another line 2 of the standard output: "x"`, 2, 2 * maxShown},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, _, c := forwarderOn(Stdout, test.degree)
			defer c.Close()
			f.rank = 7
			more := strings.Repeat("more\n", test.more)
			for i := range test.degree {
				f.give(i, "a\n")
			}
			at := f.stand(0)
			at.generation = 1
			for i := range test.degree {
				f.give(i, "b\nc\n"+more)
			}
			for i := range test.degree {
				f.resume(i, at)
			}
			for i := range test.degree {
				f.give(i, test.again)
			}
			require.Equal(t, test.want, f.found())
		})
	}
}
