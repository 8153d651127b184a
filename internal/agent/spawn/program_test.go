package spawn

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMergeTags(t *testing.T) {
	for goflags, want := range map[string]string{
		"":                                      "intra",
		"-mod=vendor":                           "intra",
		"-tags=a,b -race":                       "a,b,intra",
		"--tags=a":                              "a,intra",
		"'-tags=a b' \"-ldflags=-X a.b='c d'\"": "a,b,intra",
		"-tags=a -tags=x,intra":                 "x,intra",
	} {
		got, err := mergeTags(goflags, []string{"intra"})
		require.NoError(t, err)
		require.Equal(t, want, got, goflags)
	}
	_, err := mergeTags("'-tags=a", nil)
	require.ErrorContains(t, err, "unterminated")
}

func TestResolve(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write := func(name, text string, mode os.FileMode) {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), mode))
	}
	write("go.mod", "module example.org/m\n\ngo 1.26\n", 0o644)
	write("tool", "#!/bin/sh\n", 0o755)
	write("path/inpath", "#!/bin/sh\n", 0o755)
	write("cmd/plain.go", "//go:build !intra\n\npackage main\n\nfunc main() { undefined() }\n", 0o644)
	write("cmd/tagged.go", "//go:build intra && extra\n\npackage main\n\nfunc main() {}\n", 0o644)
	write("lib/lib.go", "package lib\n", 0o644)
	write("fresh/main.go", "//go:build !intra\n\npackage main\n\nfunc main() {\n\t//intra:section\n\t{\n\t}\n}\n", 0o644)
	write("fresh/other.go", "package main\n", 0o644)
	write("bad/bad.go", "package main\n\nfunc main() { undefined() }\n", 0o644)
	for _, made := range []string{"", "_intra"} {
		write("broken/main"+made+".go", "package main\n\nfunc main"+made+"() {\n\tundefined()\n\t//intra:section\n\t{\n\t}\n}\n", 0o644)
	}
	t.Setenv("PATH", filepath.Join(dir, "path")+":"+os.Getenv("PATH"))
	t.Setenv("GOFLAGS", "-tags=extra")
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)

	for name, want := range map[string]string{
		"tool":   filepath.Join(dir, "tool"),
		"./tool": filepath.Join(dir, "tool"),
		"inpath": filepath.Join(dir, "path/inpath"),
	} {
		p, err := Resolve(t.Context(), name, []string{"intra"}, nil, nil)
		require.NoError(t, err)
		require.Equal(t, want, p.path)
		p.Remove()
		require.FileExists(t, want)
	}

	p, err := Resolve(t.Context(), "./cmd", []string{"intra"}, nil, nil)
	require.NoError(t, err, "built with both tags")
	require.FileExists(t, p.path)
	p.Remove()
	require.NoFileExists(t, p.path)

	for name, want := range map[string]string{
		"./lib":   "no main packages to build",
		"./bad":   "undefined: undefined",
		"./...":   "undefined",
		"./fresh": filepath.Join(dir, "fresh/main.go") + " holds //intra: directives, and nothing was generated from it: run go generate",
		"./none":  "neither an executable file nor a Go package",
	} {
		_, err := Resolve(t.Context(), name, []string{"intra"}, nil, nil)
		require.ErrorContains(t, err, want)
	}
	_, err = Resolve(t.Context(), "./broken", []string{"intra"}, nil, nil)
	require.ErrorContains(t, err, "undefined: undefined")
	require.NotContains(t, err.Error(), "go generate", "the file that was generated holds the directives too")
	left, err := filepath.Glob(filepath.Join(tmp, "intrarun-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}
