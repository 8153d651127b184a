package nas

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/intratest"
)

// The sequence agrees with its definition, computed with large integers, and After has the
// same result as repeated calls of Next.
func TestRandom(t *testing.T) {
	x, a := big.NewInt(int64(Seed)), big.NewInt(1220703125)
	r := Seed
	for n := range 1000 {
		require.Equal(t, r, Seed.After(n))
		x.Mod(x.Mul(x, a), new(big.Int).Lsh(big.NewInt(1), 46))
		want, _ := new(big.Float).Quo(new(big.Float).SetInt(x), new(big.Float).SetInt64(1<<46)).Float64()
		require.Equal(t, want, r.Next())
	}
	require.Equal(t, Seed.After(123456).After(1<<40), Seed.After(1<<40+123456))
}

// Fill gives the same numbers as repeated calls of Next, and continues after them.
func TestFill(t *testing.T) {
	one, many := Seed, Seed
	for _, n := range []int{0, 1, 3, 4, 5, 7, 8, 511, 512, 513} {
		want := make([]float64, n)
		for i := range want {
			want[i] = one.Next()
		}
		got := make([]float64, n)
		many.Fill(got)
		require.Equal(t, want, got)
		require.Equal(t, one, many)
	}
}

func TestClass(t *testing.T) {
	var c Class
	for _, letter := range classes {
		require.NoError(t, c.UnmarshalText([]byte(string(letter))))
		text, err := json.Marshal(c)
		require.NoError(t, err)
		require.Equal(t, `"`+string(letter)+`"`, string(text))
	}
	for _, wrong := range []string{"", "D", "s", "SW"} {
		require.ErrorContains(t, c.UnmarshalText([]byte(wrong)), "want S, W, A, B or C")
	}
}

func TestRanks(t *testing.T) {
	s := Settings{Class: 'W'}
	for _, fits := range []int{1, 2, 16} {
		require.NoError(t, s.Ranks("CG", fits, 16))
	}
	for _, not := range []int{3, 12, 32} {
		require.ErrorContains(t, s.Ranks("CG", not, 16), "class W of CG runs on a power of two, at most 16")
	}
}

func TestClose(t *testing.T) {
	require.True(t, Close(-1.0000000001, -1, 1e-9))
	require.False(t, Close(1.0000000001, 1, 1e-11))
	require.False(t, Close(-1, 1, 1e-8))
	require.False(t, Close(math.NaN(), 1, 1e-8))
}

func TestPrint(t *testing.T) {
	r := &Result{}
	require.NoError(t, r.describe(nil, "MG", Settings{Class: 'S', Tasks: 16}, Problem{"32x32x32", 4, "floating point", 3e6}, 1.5))
	require.Equal(t, 2.0, r.Mops)
	for _, verdict := range []string{"SUCCESSFUL", "UNSUCCESSFUL"} {
		r.Verified = verdict == "SUCCESSFUL"
		var b bytes.Buffer
		r.Print(&b)
		text := strings.Join(strings.Fields(b.String()), " ")
		for _, want := range []string{"MG Benchmark Completed. Class = S Size = 32x32x32 Iterations = 4 Time in seconds = 1.50",
			"Mop/s total = 2.00 Mop/s/process = 2.00 Operation type = floating point Verification = " + verdict} {
			require.Contains(t, text, want)
		}
	}
}

// All replicas and ranks report the time of the slowest rank.
func TestOneTime(t *testing.T) {
	intratest.Run(t, intra.Spec{Ranks: 2, Replicas: 2}, func(p *intra.Process) error {
		r := &Result{}
		require.NoError(t, r.describe(p, "EP", Settings{Class: 'S'}, Problem{Count: 1e7}, Seconds(1+p.Rank())))
		require.Equal(t, 2.0, r.Seconds)
		require.Equal(t, 5.0, r.Mops)
		return nil
	})
}

// A run calls begin once, without counting its time. It then continues until all steps are
// done or one of them fails.
func TestDo(t *testing.T) {
	intratest.Run(t, intra.Spec{Ranks: 2}, func(p *intra.Process) error {
		r := Run{P: p}
		var did []string
		begin := func() error { did, r.Seconds = append(did, "begin"), 1e9; return nil }
		step := func() error { did = append(did, fmt.Sprint("step ", r.Done)); return nil }
		require.NoError(t, r.Do(2, begin, step))
		require.Equal(t, []string{"begin", "step 0", "step 1"}, did)
		require.Less(t, r.Seconds, Seconds(1e9))
		broken := errors.New("broken")
		require.ErrorIs(t, r.Do(4, begin, func() error { return broken }), broken)
		require.ErrorIs(t, r.Do(4, func() error { return broken }, step), broken)
		require.Equal(t, 2, r.Done)
		return nil
	})
}
