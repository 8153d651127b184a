//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/intrahpc/intra/kernels/bench"
	"github.com/intrahpc/intra/kernels/matrix"
)

func runSpMV(ctx context.Context, args []string, out io.Writer) error {
	fs := newFlags("spmv")
	var o bench.Options
	var f format
	optionFlags(fs, args, &o, &f)
	file := fs.String("matrix", "", "Matrix Market `file`, may be compressed with gzip (default: generated)")
	kind := fs.String("generate", "stencil", "`kind` of the generated matrix: stencil, banded, random, powerlaw, irregular")
	n := fs.Int("n", 64, "edge of the stencil's grid; other matrices have as many rows as its grid has points")
	perRow := fs.Int("perrow", 27, "entries per row, on average, of matrices that are not a stencil")
	if err := parse(fs, args); err != nil {
		return err
	}
	f.tell(&o)
	name, a, err := makeMatrix(*file, *kind, *n, *perRow)
	if err != nil {
		return err
	}
	results, err := bench.SpMV(ctx, name, a, o)
	if err != nil {
		return err
	}
	return f.write(out, results)
}

func makeMatrix(file, kind string, n, perRow int) (string, *matrix.CSR, error) {
	if file != "" {
		a, err := matrix.Open(file)
		return filepath.Base(file), a, err
	}
	if n < 1 || n > 512 {
		return "", nil, errors.New("-n must be 1 to 512")
	}
	rows := n * n * n
	if perRow < 1 || perRow > rows {
		return "", nil, fmt.Errorf("-perrow must be 1 to %d", rows)
	}
	name := fmt.Sprintf("%s%d", kind, n)
	switch kind {
	case "stencil":
		return name, matrix.Stencil27(n, n, n), nil
	case "banded":
		return name, matrix.Banded(rows, perRow*5/9, 0.9, 1), nil
	case "random":
		return name, matrix.Random(rows, rows, perRow, 1), nil
	case "powerlaw":
		return name, matrix.PowerLaw(rows, rows, perRow, 1), nil
	case "irregular":
		return name, matrix.Irregular(rows, rows, perRow, 1), nil
	}
	return "", nil, fmt.Errorf("no kind of matrix is called %q", kind)
}
