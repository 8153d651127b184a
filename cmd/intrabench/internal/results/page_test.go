//go:build linux

package results

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write docs/results.md and the tables of results in other documents")

const (
	root   = "../../../../"
	folder = root + "docs/results"
)

// TestPageIsCurrent checks that docs/results.md and the tables in README.md and other documents
// follow from the files in docs/results.
func TestPageIsCurrent(t *testing.T) {
	s, err := readSite(folder)
	require.NoError(t, err)
	current(t, "docs/results.md", func(string) string { return s.write() })
	tables := map[string][]*table{"README.md": {&s.readme}}
	for _, c := range s.claims {
		for _, p := range c.Parts {
			if c.Also != "" && p.Table != nil {
				tables[c.Also] = append(tables[c.Also], p.Table)
			}
		}
	}
	for name, all := range tables {
		current(t, name, func(now string) string {
			for _, one := range all {
				now, err = one.replace(now)
				require.NoError(t, err, name)
			}
			return now
		})
	}
}

func current(t *testing.T, name string, want func(now string) string) {
	b, err := os.ReadFile(root + name)
	require.NoError(t, err)
	text := want(string(b))
	if *update {
		require.NoError(t, os.WriteFile(root+name, []byte(text), 0o644))
		return
	}
	require.True(t, text == string(b), "%s is stale: go test ./cmd/intrabench/internal/results -run Page -update writes it", name)
}

func TestEveryFileIsShown(t *testing.T) {
	s, err := readSite(folder)
	require.NoError(t, err)
	shown := []string{"page.md", "readme.json"}
	for _, c := range s.claims {
		shown = append(shown, c.file+".json")
		for _, p := range c.Parts {
			if p.Plot != "" {
				shown = append(shown, p.Plot)
			}
		}
	}
	for name := range s.records {
		shown = append(shown, name)
	}
	files, err := os.ReadDir(folder)
	require.NoError(t, err)
	var there []string
	for _, f := range files {
		there = append(there, f.Name())
	}
	require.ElementsMatch(t, shown, there)
}

// TestClaimsHaveCommands requires a command for copied figures, and cells for all columns.
func TestClaimsHaveCommands(t *testing.T) {
	s, err := readSite(folder)
	require.NoError(t, err)
	for _, c := range s.claims {
		copied, tables := false, 0
		for _, p := range c.Parts {
			if p.Plot != "" {
				require.FileExists(t, filepath.Join(folder, p.Plot))
			}
			if p.Table == nil {
				continue
			}
			tables++
			for _, r := range p.Table.Rows {
				copied = copied || r.Copied != ""
				require.Len(t, r.Cells, len(p.Table.Columns), "%s: %s", c.file, r.Cells[0])
			}
		}
		require.Positive(t, tables, c.file)
		require.Equal(t, copied, len(c.Commands) > 0, c.file)
		require.Equal(t, copied, c.Machine != "", c.file)
	}
}

func TestFigure(t *testing.T) {
	in := map[string]any{
		"rows": []any{
			map[string]any{"kernel": "ddot", "config": "send at 1.2GB/s", "degrees": []any{2.0, 1.0}, "e": map[string]any{"median": 0.5, "q1": 0.25, "q3": 1.0}},
			map[string]any{"kernel": "ddot", "config": "auto", "e": 12.0},
		},
		"us": 1e-6, "big": []any{map[string]any{"n": 4194304.0, "t": 1.0}},
	}
	for path, want := range map[string]string{
		"rows[kernel=ddot,config=send at 1.2GB/s].e": "0.50 [0.25 1.00]",
		"rows[degrees=2:1].e*100":                    "50.0 [25.0 100]",
		"rows[1].e":                                  "12.0",
		"us*1e6":                                     "1.00",
		"big[n=4194304].t":                           "1.00",
	} {
		got, err := figure(in, path)
		require.NoError(t, err, path)
		require.Equal(t, want, got, path)
	}
	for path, want := range map[string]string{
		"row":                 "there is no row",
		"rows[kernel=ddot].e": "2 elements",
		"rows[kernel=x].e":    "0 elements",
		"rows[0]":             "neither a number nor a spread",
		"rows[0":              "cannot read",
		"us*x":                "invalid syntax",
	} {
		_, err := figure(in, path)
		require.ErrorContains(t, err, want, path)
	}
}

// write writes the page.
func (s *site) write() string {
	var b strings.Builder
	for _, c := range s.claims {
		fmt.Fprintf(&b, "## %s\n\n", c.Claim)
		for _, p := range c.Parts {
			switch {
			case p.Table != nil:
				fmt.Fprintf(&b, "%s\n", p.Table.write())
			case p.Plot != "":
				fmt.Fprintf(&b, "![%s](results/%s)\n\n", p.Text, p.Plot)
			default:
				fmt.Fprintf(&b, "%s\n\n", p.Text)
			}
		}
		b.WriteString(s.sources(c).write() + "\n")
	}
	return strings.Replace(s.page, "CLAIMS\n", strings.TrimSuffix(b.String(), "\n"), 1)
}

// sources returns a table with the sources of a claim's figures: commands, dates and machines.
func (s *site) sources(c *claim) *table {
	t := &table{Columns: []string{"measured", "command", "machine and time"}}
	var copied, files []string
	for _, p := range c.Parts {
		if p.Table == nil {
			continue
		}
		for _, r := range p.Table.Rows {
			if r.Record != "" {
				files = append(files, r.Record)
			} else {
				copied = append(copied, strings.Fields(r.Copied)[0])
			}
		}
	}
	slices.Sort(copied)
	if copied = slices.Compact(copied); len(copied) > 1 {
		copied = []string{copied[0] + " to " + copied[len(copied)-1]}
	}
	for _, k := range c.Commands {
		t.Rows = append(t.Rows, row{Cells: []string{k.What, k.Command, fmt.Sprintf("%s; copied by hand, %s", c.Machine, copied[0])}})
	}
	slices.Sort(files)
	for _, name := range slices.Compact(files) {
		r := s.records[name]
		where := fmt.Sprintf("%s, %d cores; %s; others used %.1f cores", r.Machine.CPU, r.Machine.Cores, r.Measured.Format("2006-01-02"), r.Others)
		t.Rows = append(t.Rows, row{Cells: []string{fmt.Sprintf("[%s](results/%[1]s)", name), "`" + r.Command + "`", where}})
	}
	return t
}

func (t *table) write() string {
	var b strings.Builder
	b.WriteString(line(t.Columns))
	b.WriteString(strings.Repeat("| --- ", len(t.Columns)) + "|\n")
	for _, r := range t.Rows {
		b.WriteString(line(r.Cells))
	}
	return b.String()
}

func line(cells []string) string {
	var b strings.Builder
	for _, c := range cells {
		b.WriteString(strings.TrimRight("| "+c, " ") + " ")
	}
	return b.String() + "|\n"
}
