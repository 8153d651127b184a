//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/cmd/intrabench/internal/results"
)

func TestUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"nothing"}} {
		var diag bytes.Buffer
		require.ErrorIs(t, run(t.Context(), args, nil, &diag), errUsage)
		require.Contains(t, diag.String(), "usage: intrabench COMMAND [flags]\n  kernels")
	}
}

func TestMovedCommands(t *testing.T) {
	for _, name := range moved {
		var diag bytes.Buffer
		require.ErrorIs(t, run(t.Context(), []string{name, "-rounds", "1"}, nil, &diag), errUsage)
		require.Equal(t, "intrabench: "+name+" is measured by figures: write intrabench figures -app "+name+"\n", diag.String())
	}
}

func TestKernels(t *testing.T) {
	var out bytes.Buffer
	args := []string{"kernels", "-rounds", "2", "-size", "L1", "-elem", "float32", "-kernel", "dot,sum", "-path", "go"}
	require.NoError(t, run(t.Context(), args, &out, nil))
	require.Regexp(t, `(?m)^ +Dot  float32 +L1 +\d+ +go `, out.String())

	out.Reset()
	file := filepath.Join(t.TempDir(), "k.json")
	require.NoError(t, run(t.Context(), append(args, "-json", file), &out, nil))
	var measured []struct {
		Kernel, Path string
		Seconds      []float64
	}
	require.Equal(t, "intrabench "+strings.Join(args, " "), readResult(t, file, &measured).Command)
	require.Len(t, measured, 4)
	require.Len(t, measured[3].Seconds, 2)
}

func TestSpMV(t *testing.T) {
	file := filepath.Join(t.TempDir(), "two.mtx")
	require.NoError(t, os.WriteFile(file, []byte("%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 3\n2 1 4\n"), 0o666))
	for _, args := range [][]string{
		{"-matrix", file}, {"-n", "8"}, {"-n", "8", "-generate", "banded"}, {"-n", "8", "-generate", "random"},
		{"-n", "8", "-generate", "powerlaw"}, {"-n", "8", "-generate", "irregular"},
	} {
		var out bytes.Buffer
		require.NoError(t, run(t.Context(), append([]string{"spmv", "-rounds", "1"}, args...), &out, nil))
		require.Regexp(t, `(?m)^SpMV/Sliced: slices of 8 rows: .* MB$`, out.String())
	}
	require.EqualError(t, run(t.Context(), []string{"spmv", "-n", "0"}, nil, nil), "-n must be 1 to 512")
	require.EqualError(t, run(t.Context(), []string{"spmv", "-n", "2", "-perrow", "9"}, nil, nil), "-perrow must be 1 to 8")
	require.EqualError(t, run(t.Context(), []string{"spmv", "-generate", "magic"}, nil, nil), `no kind of matrix is called "magic"`)
	require.ErrorIs(t, run(t.Context(), []string{"spmv", "-matrix", file + "x"}, nil, nil), os.ErrNotExist)
}

// readResult decodes the result in a file of -json into to.
func readResult(t *testing.T, file string, to any) results.Record {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	r := results.Record{Result: to}
	require.NoError(t, json.Unmarshal(text, &r))
	return r
}
