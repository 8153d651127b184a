package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/intrahpc/intra/examples/npb/internal/nas"
	"github.com/intrahpc/intra/kernels"
)

// condition is the ratio of the smallest to the largest weight of the random vectors. This
// is approximately the ratio of the eigenvalues.
const condition = 0.1

// entry is an entry of a sparse vector.
type entry struct {
	at    int32
	value float64
}

// randomVectors draws one sparse vector for each row. It has of.entries entries at
// different positions, and 1/2 at the position of the row itself.
func randomVectors(of problem) [][]entry {
	r := nas.Seed
	r.Next() // the original discards one number
	size := 1
	for size < of.rows {
		size *= 2
	}
	all := make([][]entry, of.rows)
	// Taken holds, for each position, the last row (counted from 1) whose vector has an
	// entry there.
	taken := make([]int, of.rows)
	for row := range all {
		v := make([]entry, 0, of.entries+1)
		for len(v) < of.entries {
			value, place := r.Next(), r.Next()
			at := int(float64(size) * place)
			if at < of.rows && taken[at] != row+1 {
				taken[at] = row + 1
				v = append(v, entry{int32(at), value})
			}
		}
		own := slices.IndexFunc(v, func(e entry) bool { return int(e.at) == row })
		if own < 0 {
			own = len(v)
			v = append(v, entry{at: int32(row)})
		}
		v[own].value = 0.5
		all[row] = v
	}
	return all
}

// newMatrix makes a block of the matrix, which is the sum of two matrices: the weighted sum
// of the products of each random vector with itself, and a multiple of the identity.
func newMatrix(of problem, firstRow, rows, firstColumn, columns int) (*kernels.Sliced[float64], error) {
	vectors := randomVectors(of)
	type factor struct {
		vector int32
		value  float64
	}
	factors := make([][]factor, rows) // for each row: the vectors with an entry there
	for k, v := range vectors {
		for _, e := range v {
			if row := int(e.at) - firstRow; row >= 0 && row < rows {
				factors[row] = append(factors[row], factor{int32(k), e.value})
			}
		}
	}
	weights := make([]float64, of.rows)
	ratio, weight := math.Pow(condition, 1/float64(of.rows)), 1.0
	for k := range weights {
		weights[k] = weight
		weight *= ratio
	}
	b := kernels.NewBuilder[float64](columns, rows, rows*(of.entries+1)*(of.entries+1))
	sums, filled := make([]float64, columns), make([]bool, columns)
	var at []int32
	var values []float64
	add := func(column int, value float64) {
		if column < 0 || column >= columns {
			return
		}
		if !filled[column] {
			filled[column] = true
			at = append(at, int32(column))
		}
		sums[column] += value
	}
	for row := range rows {
		at, values = at[:0], values[:0]
		for _, f := range factors[row] {
			for _, e := range vectors[f.vector] {
				add(int(e.at)-firstColumn, float64(f.value*float64(weights[f.vector]*e.value)))
			}
		}
		add(firstRow+row-firstColumn, condition-of.shift)
		slices.Sort(at)
		for _, c := range at {
			values = append(values, sums[c])
			sums[c], filled[c] = 0, false
		}
		if err := b.Row(at, values); err != nil {
			return nil, fmt.Errorf("build the matrix: %w", err)
		}
	}
	return b.Matrix(), nil
}
