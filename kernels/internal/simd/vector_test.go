package simd

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// kinds of test data.
const (
	ordinary = iota // values of similar size, both signs
	wild            // any finite bits, so that sums overflow and cancel
	denormal        // denormals, and numbers of similar size
	special         // zeros, infinities, NaNs with payloads among ordinary values
	zeros           // -0 only, which sums must turn into +0
	kindCount
)

func fill[T Float](r *rand.Rand, kind, n int) []T {
	s := make([]T, n)
	for i := range s {
		s[i] = value[T](r, kind)
	}
	return s
}

func value[T Float](r *rand.Rand, kind int) T {
	switch kind {
	case wild:
		return fromBits[T](r.Uint64() &^ (1 << 52) &^ (1 << 20))
	case denormal:
		return fromBits[T](r.Uint64() & 0x8007_ffff_8000_ffff)
	case special:
		switch r.IntN(40) {
		case 0:
			return T(math.Inf(1))
		case 1:
			return T(math.Inf(-1))
		case 2:
			return T(math.Copysign(0, -1))
		case 3: // NaNs, quiet and signalling, of either sign
			return fromBits[T](r.Uint64() | 0x7ff0_0000_7f80_0001)
		}
	case zeros:
		return T(math.Copysign(0, -1))
	}
	return T(r.NormFloat64())
}

// fromBits returns the value with these bits. For a float32 it uses the low half.
func fromBits[T Float](b uint64) T {
	var v T
	switch p := any(&v).(type) {
	case *float64:
		*p = math.Float64frombits(b)
	case *float32:
		*p = math.Float32frombits(uint32(b))
	}
	return v
}

// guarded returns a copy of s that starts off elements into an array. It also returns a
// function that fails if anything around the copy was written.
func guarded[T Float](t testing.TB, s []T, off int) ([]T, func()) {
	const guard = 70
	mark := fromBits[T](0x7ff8_dead_7fc0_beef)
	all := slices.Repeat([]T{mark}, guard+off+len(s)+guard)
	in := all[guard+off:][:len(s):len(s)]
	copy(in, s)
	want := bits([]T{mark})[0]
	return in, func() {
		for i, b := range bits(all) {
			if i >= guard+off && i < guard+off+len(s) {
				continue
			}
			if b != want {
				require.Fail(t, "written outside", "element %d of %d", i-guard-off, len(s))
			}
		}
	}
}

// checkVectors compares every vector kernel of a path with its oracle.
func checkVectors[T Float](t testing.TB, k *Ops[T], alpha, beta T, xs, ys []T, off int) {
	x, guardX := guarded(t, xs, off)
	y, guardY := guarded(t, ys, off+1)
	w, guardW := guarded(t, fill[T](rand.New(rand.NewPCG(1, 2)), ordinary, len(xs)), off+2)
	same := func(name string, want []T, got ...[]T) {
		for _, g := range got {
			if !slices.Equal(bits(want), bits(g)) {
				require.Equal(t, bits(want), bits(g), "%s n=%d offset=%d alpha=%v beta=%v", name, len(xs), off, alpha, beta)
			}
		}
		for _, check := range []func(){guardX, guardY, guardW} {
			check()
		}
		require.True(t, slices.Equal(bits(xs), bits(x)) && slices.Equal(bits(ys), bits(y)), "%s wrote to its input", name)
		clear(w)
	}
	want := oracleWaxpby(alpha, xs, beta, ys)
	k.Waxpby(alpha, x, beta, y, w)
	same("Waxpby", want, w)
	k.WaxpbyNT(alpha, x, beta, y, w)
	same("WaxpbyNT", want, w)
	d := k.WaxpbyDot(alpha, x, beta, y, w)
	same("WaxpbyDot", want, w)
	same("WaxpbyDot", []T{oracleDot(want, want)}, []T{d})

	want = oracleWaxpby(1, xs, beta, ys)
	k.Xpby(x, beta, y, w)
	same("Xpby", want, w)
	k.XpbyNT(x, beta, y, w)
	same("XpbyNT", want, w)
	d = k.XpbyDot(x, beta, y, w)
	same("XpbyDot", want, w)
	same("XpbyDot", []T{oracleDot(want, want)}, []T{d})

	want = make([]T, len(xs))
	for i := range want {
		want[i] = oracleNaN(T(alpha * xs[i]))
	}
	k.Scale(alpha, x, w)
	same("Scale", want, w)
	k.CopyNT(x, w)
	same("CopyNT", xs, w)
	clear(w)
	k.CopyNTPart(x, w)
	same("CopyNTPart", xs, w)

	same("Dot", []T{oracleDot(xs, ys)}, []T{k.Dot(x, y)})
	same("Sum", []T{oracleSum(xs)}, []T{k.Sum(x)})

	// In place.
	copy(w, x)
	k.Waxpby(alpha, w, beta, y, w)
	same("Waxpby onto x", oracleWaxpby(alpha, xs, beta, ys), w)
	copy(w, y)
	k.XpbyNT(x, beta, w, w)
	same("XpbyNT onto y", oracleWaxpby(1, xs, beta, ys), w)
	copy(w, x)
	k.Scale(alpha, w, w)
	same("Scale onto x", want, w)
}

func eachPath(t *testing.T, f func(t *testing.T, p *Path)) {
	for _, p := range Paths() {
		t.Run(p.Name, func(t *testing.T) { f(t, p) })
	}
}

func TestVectors(t *testing.T) {
	eachPath(t, func(t *testing.T, p *Path) {
		t.Run("float64", func(t *testing.T) { testVectors(t, &p.F64) })
		t.Run("float32", func(t *testing.T) { testVectors(t, &p.F32) })
	})
}

func testVectors[T Float](t *testing.T, k *Ops[T]) {
	r := rand.New(rand.NewPCG(3, 4))
	var lengths []int
	for n := range 258 {
		lengths = append(lengths, n)
	}
	lengths = append(lengths, 1000, 4096, 10007)
	for _, n := range lengths {
		for kind := range kindCount {
			x, y := fill[T](r, kind, n), fill[T](r, kind, n)
			checkVectors(t, k, value[T](r, kind), value[T](r, kind), x, y, r.IntN(16))
		}
	}
	// Every alignment of every slice.
	for off := range 64 {
		checkVectors(t, k, 2, -3, fill[T](r, special, 200), fill[T](r, ordinary, 200), off)
	}
}

// FuzzVectors compares the paths on arbitrary bits.
func FuzzVectors(f *testing.F) {
	f.Add(uint64(0x3ff0000000000000), uint64(0x4000000000000000), uint8(0), []byte("0123456789abcdefghijklmnopqrstuv"))
	f.Add(uint64(0x7ff0000000000001), uint64(0x8000000000000000), uint8(5), make([]byte, 700))
	f.Fuzz(func(t *testing.T, alpha, beta uint64, off uint8, data []byte) {
		if len(data) > 1<<14 {
			return
		}
		for _, p := range Paths() {
			fuzzVectors(t, &p.F64, alpha, beta, off, data)
			fuzzVectors(t, &p.F32, alpha, beta, off, data)
		}
	})
}

func fuzzVectors[T Float](t *testing.T, k *Ops[T], alpha, beta uint64, off uint8, data []byte) {
	var v []T
	for size := 256 / Lanes[T](); len(data) >= size; data = data[size:] {
		var word [8]byte
		copy(word[:], data[:size])
		v = append(v, fromBits[T](binary.LittleEndian.Uint64(word[:])))
	}
	h := len(v) / 2
	checkVectors(t, k, fromBits[T](alpha), fromBits[T](beta), v[:h], v[h:2*h], int(off%32))
}

func TestStreamBytes(t *testing.T) {
	require.Equal(t, int64(4<<20), streamBytes(8<<20))
	require.Equal(t, int64(16<<20), streamBytes(-1))
}

// TestEnvironment runs this test program with each path, and with some that are
// not available.
func TestEnvironment(t *testing.T) {
	if os.Getenv("KERNELS_TEST_CHILD") != "" {
		fmt.Println("path in use:", Active().Name)
		return
	}
	start := func(path string) (string, error) {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestEnvironment$", "-test.v")
		cmd.Env = append(os.Environ(), "KERNELS_TEST_CHILD=1", Env+"="+path)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, p := range Paths() {
		out, err := start(p.Name)
		require.NoError(t, err)
		require.Contains(t, out, "path in use: "+p.Name+"\n")
	}
	for _, name := range []string{"avx1024", "AVX2", "go "} {
		out, err := start(name)
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
		require.Equal(t, 2, exit.ExitCode())
		require.Contains(t, out, "kernels: INTRA_KERNELS="+name+": no such path here; this program on this CPU has ")
		require.NotContains(t, out, "goroutine")
	}
}

func TestSelectPath(t *testing.T) {
	usable := []*Path{{Name: "avx2"}, {Name: "go"}}
	for _, c := range []struct{ name, want, err string }{
		{"", "avx2", ""},
		{"go", "go", ""},
		{"avx512", "", "INTRA_KERNELS=avx512: no such path here; this program on this CPU has avx2, go"},
		{"AVX2", "", "INTRA_KERNELS=AVX2: no such path here; this program on this CPU has avx2, go"},
	} {
		t.Run(fmt.Sprintf("%q", c.name), func(t *testing.T) {
			p, err := selectPath(c.name, usable)
			if c.err != "" {
				require.EqualError(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, p.Name)
		})
	}
}
