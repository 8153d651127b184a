package matrix

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/intrahpc/intra/kernels"
)

// Open reads a Matrix Market file, and decompresses it if its name ends in .gz.
func Open(name string) (*CSR, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(name, ".gz") {
		z, err := gzip.NewReader(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		r = z
	}
	a, err := Read(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return a, nil
}

// Read reads a matrix in the Matrix Market exchange format: coordinate or array; real,
// integer or pattern (whose entries are 1); general, symmetric or skew-symmetric. Columns
// ascend within a row. Entries with the same row and column stay separate, in the order of
// the file, and so add up in a product. Errors contain the line number.
func Read(r io.Reader) (*CSR, error) {
	m := &reader{in: bufio.NewScanner(r)}
	m.in.Buffer(make([]byte, 64<<10), 1<<20)
	a, err := m.read()
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", m.line, err)
	}
	return a, nil
}

type entry struct {
	row, col int32
	val      float64
}

type reader struct {
	in                 *bufio.Scanner
	line               int
	array, pattern     bool
	symmetric, skew    bool
	rows, cols, stored int
	entries            []entry
}

func (m *reader) read() (*CSR, error) {
	if err := m.header(); err != nil {
		return nil, err
	}
	if err := m.size(); err != nil {
		return nil, err
	}
	if err := m.body(); err != nil {
		return nil, err
	}
	return m.matrix()
}

func (m *reader) header() error {
	if !m.in.Scan() {
		return orElse(m.in.Err(), errors.New("the file is empty"))
	}
	m.line++
	f := strings.Fields(strings.ToLower(m.in.Text()))
	if len(f) != 5 || f[0] != "%%matrixmarket" || f[1] != "matrix" {
		return errors.New("does not start with %%MatrixMarket matrix FORMAT FIELD SYMMETRY")
	}
	switch f[2] {
	case "coordinate":
	case "array":
		m.array = true
	default:
		return fmt.Errorf("unknown format %q", f[2])
	}
	switch f[3] {
	case "real", "integer", "double":
	case "pattern":
		m.pattern = true
	default:
		return fmt.Errorf("field %q is not real, integer or pattern", f[3])
	}
	switch f[4] {
	case "general":
	case "symmetric":
		m.symmetric = true
	case "skew-symmetric":
		m.symmetric, m.skew = true, true
	default:
		return fmt.Errorf("symmetry %q is not general, symmetric or skew-symmetric", f[4])
	}
	if m.array && m.pattern {
		return errors.New("an array cannot be a pattern")
	}
	return nil
}

// fields returns the fields of the next line that is neither empty nor a
// comment.
func (m *reader) fields() ([]string, error) {
	for m.in.Scan() {
		m.line++
		if f := strings.Fields(m.in.Text()); len(f) > 0 && f[0][0] != '%' {
			return f, nil
		}
	}
	return nil, orElse(m.in.Err(), io.ErrUnexpectedEOF)
}

func (m *reader) size() error {
	f, err := m.fields()
	if err != nil {
		return err
	}
	want := []*int{&m.rows, &m.cols, &m.stored}
	if m.array {
		want = want[:2]
	}
	if len(f) != len(want) {
		return fmt.Errorf("sizes: %d numbers instead of %d", len(f), len(want))
	}
	for i, p := range want {
		if *p, err = strconv.Atoi(f[i]); err != nil || *p < 0 {
			return fmt.Errorf("size %q is not a number of rows, columns or entries", f[i])
		}
	}
	if m.rows > math.MaxInt32 || m.cols > math.MaxInt32 {
		return fmt.Errorf("%d times %d is too large", m.rows, m.cols)
	}
	if m.symmetric && m.rows != m.cols {
		return fmt.Errorf("symmetric, but %d times %d", m.rows, m.cols)
	}
	return nil
}

func (m *reader) body() error {
	if m.array {
		return m.columns()
	}
	// The file may contain a wrong size, so memory is allocated as entries are read.
	for range m.stored {
		f, err := m.fields()
		if err != nil {
			return err
		}
		if want := 3; m.pattern && len(f) != 2 || !m.pattern && len(f) != want {
			return fmt.Errorf("an entry of %d numbers", len(f))
		}
		row, err := index(f[0], m.rows)
		if err != nil {
			return fmt.Errorf("row %w", err)
		}
		col, err := index(f[1], m.cols)
		if err != nil {
			return fmt.Errorf("column %w", err)
		}
		val := 1.0
		if !m.pattern {
			if val, err = number(f[2]); err != nil {
				return err
			}
		}
		m.add(row, col, val)
	}
	return m.end()
}

// columns reads a dense matrix, column by column. For a symmetric one, the file has only
// the lower triangle.
func (m *reader) columns() error {
	if m.rows == 0 {
		return m.end()
	}
	for col := range int32(m.cols) {
		first := int32(0)
		if m.symmetric {
			first = col
		}
		if m.skew {
			first++
		}
		for row := first; row < int32(m.rows); row++ {
			f, err := m.fields()
			if err != nil {
				return err
			}
			if len(f) != 1 {
				return fmt.Errorf("an element of %d numbers", len(f))
			}
			val, err := number(f[0])
			if err != nil {
				return err
			}
			m.add(row, col, val)
		}
	}
	return m.end()
}

func (m *reader) add(row, col int32, val float64) {
	m.entries = append(m.entries, entry{row, col, val})
	if m.symmetric && row != col {
		if m.skew {
			val = -val
		}
		m.entries = append(m.entries, entry{col, row, val})
	}
}

func (m *reader) end() error {
	f, err := m.fields()
	switch {
	case err == io.ErrUnexpectedEOF:
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("%q after the last entry", strings.Join(f, " "))
}

// matrix sorts the entries by row and column, with two stable counting sorts.
func (m *reader) matrix() (*CSR, error) {
	if most := 1<<20 + 64*len(m.entries); max(m.rows, m.cols) > most {
		return nil, fmt.Errorf("%d times %d is too large for %d entries", m.rows, m.cols, len(m.entries))
	}
	byCol, _ := sorted(m.entries, m.cols, func(e entry) int32 { return e.col })
	byRow, ptr := sorted(byCol, m.rows, func(e entry) int32 { return e.row })
	col, val := make([]int32, len(byRow)), make([]float64, len(byRow))
	for k, e := range byRow {
		col[k], val[k] = e.col, e.val
	}
	return kernels.NewCSR(m.cols, ptr, col, val)
}

// sorted returns the entries in ascending order of their keys, and the position at which
// each key starts. The sort is stable.
func sorted(entries []entry, keys int, key func(entry) int32) ([]entry, []int64) {
	start := make([]int64, keys+1)
	for _, e := range entries {
		start[key(e)+1]++
	}
	for k := range keys {
		start[k+1] += start[k]
	}
	next := append([]int64(nil), start...)
	out := make([]entry, len(entries))
	for _, e := range entries {
		k := key(e)
		out[next[k]] = e
		next[k]++
	}
	return out, start
}

func index(s string, n int) (int32, error) {
	i, err := strconv.Atoi(s)
	if err != nil || i < 1 || i > n {
		return 0, fmt.Errorf("%q is not in 1 to %d", s, n)
	}
	return int32(i - 1), nil
}

func number(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // a number out of range becomes 0 or an infinity
		return 0, fmt.Errorf("%q is not a number", s)
	}
	return v, nil
}

func orElse(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}
