package matrix_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/kernels/matrix"
)

// dense returns a matrix in dense form. Entries of the same place are added.
func dense(a *matrix.CSR) [][]float64 {
	rows, cols := a.Dims()
	d := make([][]float64, rows)
	for i := range d {
		d[i] = make([]float64, cols)
		col, val := a.Row(i)
		for k := range col {
			d[i][col[k]] += val[k]
		}
	}
	return d
}

func TestRead(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       [][]float64
	}{
		{"general", "%%MatrixMarket matrix coordinate real general\n% a comment\n\n2 3 3\n1 1 1.5\n2 3 -2e1\n 1  3 4 \n",
			[][]float64{{1.5, 0, 4}, {0, 0, -20}}},
		{"case and integers", "%%MatrixMarket MATRIX Coordinate Integer General\n1 1 1\n1 1 7\n", [][]float64{{7}}},
		{"symmetric", "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 3\n2 1 4\n", [][]float64{{3, 4}, {4, 0}}},
		{"skew", "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 4\n", [][]float64{{0, -4}, {4, 0}}},
		{"pattern", "%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 2\n2 1\n", [][]float64{{0, 1}, {1, 0}}},
		{"array", "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n", [][]float64{{1, 3}, {2, 4}}},
		{"symmetric array", "%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n", [][]float64{{1, 2}, {2, 3}}},
		{"skew array", "%%MatrixMarket matrix array real skew-symmetric\n2 2\n5\n", [][]float64{{0, -5}, {5, 0}}},
		{"repeated", "%%MatrixMarket matrix coordinate real general\n1 1 2\n1 1 1\n1 1 2\n", [][]float64{{3}}},
		{"empty", "%%MatrixMarket matrix coordinate real general\n0 0 0\n", [][]float64{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := matrix.Read(bytes.NewReader([]byte(c.text)))
			require.NoError(t, err)
			require.Equal(t, c.want, dense(a))
		})
	}
}

func TestReadOrder(t *testing.T) {
	a, err := matrix.Read(bytes.NewReader([]byte("%%MatrixMarket matrix coordinate real general\n2 3 5\n2 1 1\n1 3 2\n1 1 3\n1 3 4\n1 2 5\n")))
	require.NoError(t, err)
	col, val := a.Row(0)
	require.Equal(t, []int32{0, 1, 2, 2}, col)
	require.Equal(t, []float64{3, 5, 2, 4}, val)
}

func TestReadErrors(t *testing.T) {
	const head = "%%MatrixMarket matrix coordinate real general\n"
	for _, c := range []struct{ text, err string }{
		{"", "line 0: the file is empty"},
		{"1 1 1\n", "line 1: does not start with %%MatrixMarket matrix FORMAT FIELD SYMMETRY"},
		{"%%MatrixMarket matrix sparse real general\n", `line 1: unknown format "sparse"`},
		{"%%MatrixMarket matrix coordinate complex general\n", `line 1: field "complex" is not real, integer or pattern`},
		{"%%MatrixMarket matrix coordinate real hermitian\n", `line 1: symmetry "hermitian" is not general, symmetric or skew-symmetric`},
		{"%%MatrixMarket matrix array pattern general\n", "line 1: an array cannot be a pattern"},
		{head, "line 1: unexpected EOF"},
		{head + "1 1\n", "line 2: sizes: 2 numbers instead of 3"},
		{head + "1 -1 0\n", `line 2: size "-1" is not a number of rows, columns or entries`},
		{head + "1 9999999999 0\n", "line 2: 1 times 9999999999 is too large"},
		{head + "2 2 2\n1 1 1\n", "line 3: unexpected EOF"},
		{head + "2 2 1\n3 1 1\n", `line 3: row "3" is not in 1 to 2`},
		{head + "2 2 1\n1 0 1\n", `line 3: column "0" is not in 1 to 2`},
		{head + "2 2 1\n1 1 one\n", `line 3: "one" is not a number`},
		{head + "2 2 1\n1 1\n", "line 3: an entry of 2 numbers"},
		{head + "1 1 1\n1 1 1\n1 1 1\n", `line 4: "1 1 1" after the last entry`},
		{head + "2000000000 1 0\n", "line 2: 2000000000 times 1 is too large for 0 entries"},
		{"%%MatrixMarket matrix array real general\n0 2000000000\n", "line 2: 0 times 2000000000 is too large for 0 entries"},
		{"%%MatrixMarket matrix coordinate real symmetric\n1 2 0\n", "line 2: symmetric, but 1 times 2"},
	} {
		_, err := matrix.Read(bytes.NewReader([]byte(c.text)))
		require.EqualError(t, err, c.err)
	}
}

func TestOpen(t *testing.T) {
	text := []byte("%%MatrixMarket matrix coordinate real general\n1 2 1\n1 2 9\n")
	plain := filepath.Join(t.TempDir(), "a.mtx")
	require.NoError(t, os.WriteFile(plain, text, 0o666))
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	_, err := w.Write(text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	packed := plain + ".gz"
	require.NoError(t, os.WriteFile(packed, z.Bytes(), 0o666))
	for _, name := range []string{plain, packed} {
		a, err := matrix.Open(name)
		require.NoError(t, err)
		require.Equal(t, [][]float64{{0, 9}}, dense(a))
	}
	_, err = matrix.Open(plain + ".missing")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(plain, []byte("nothing"), 0o666))
	_, err = matrix.Open(plain)
	require.ErrorContains(t, err, "a.mtx: line 1: ")
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("%%MatrixMarket matrix coordinate real general\n2 3 3\n1 1 1.5\n2 3 -2e1\n1 3 4\n"))
	f.Add([]byte("%%MatrixMarket matrix array integer skew-symmetric\n3 3\n1\n2\n3\n"))
	f.Add([]byte("%%MatrixMarket matrix coordinate pattern symmetric\n9 9 1\n9 1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := matrix.Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		rows, cols := a.Dims()
		n := 0
		for i := range rows {
			col, val := a.Row(i)
			require.Len(t, val, len(col))
			for k, c := range col {
				require.True(t, c >= 0 && int(c) < cols && (k == 0 || c >= col[k-1]))
			}
			n += len(col)
		}
		require.Equal(t, n, a.NNZ())
	})
}

func TestGenerated(t *testing.T) {
	a := matrix.Stencil27(3, 4, 5)
	rows, cols := a.Dims()
	require.Equal(t, []int{60, 60}, []int{rows, cols})
	require.Equal(t, (3*3-2)*(3*4-2)*(3*5-2), a.NNZ())
	for i, row := range dense(a) {
		for j, v := range row {
			far := max(abs(i%3-j%3), abs(i/3%4-j/3%4), abs(i/12-j/12))
			want := map[int]float64{0: 27, 1: -1}[far]
			require.Equal(t, want, v, "%d, %d", i, j)
		}
	}

	longest := func(a *matrix.CSR) (empty, most int) {
		n, _ := a.Dims()
		for i := range n {
			col, _ := a.Row(i)
			if len(col) == 0 {
				empty++
			}
			most = max(most, len(col))
		}
		return empty, most
	}
	_, most := longest(matrix.PowerLaw(5000, 5000, 9, 1))
	require.Greater(t, most, 20*9)
	empty, most := longest(matrix.Irregular(300, 200, 5, 1))
	require.Greater(t, empty, 50)
	require.Equal(t, 200, most)
	require.Equal(t, 7*100, matrix.Random(100, 50, 7, 1).NNZ())
	require.Equal(t, matrix.Banded(50, 3, 0.5, 1).NNZ(), matrix.Banded(50, 3, 0.5, 1).NNZ())
}

func abs(i int) int { return max(i, -i) }
