package generate

import (
	"fmt"
	"strings"
)

// unified returns the unified diff from the old text of a file to the new one. A nil text
// means that there is no file.
func unified(name string, old, new []byte) string {
	from, to := "a/"+name, "b/"+name
	if old == nil {
		from = "/dev/null"
	}
	if new == nil {
		to = "/dev/null"
	}
	a, b := lines(old), lines(new)
	edits := compareLines(a, b)
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", from, to)
	const context = 3
	for i := 0; i < len(edits); {
		if edits[i].op == ' ' {
			i++
			continue
		}
		first := max(i-context, 0)
		end, gap := i, 0
		for j := i; j < len(edits) && gap <= 2*context; j++ {
			if edits[j].op == ' ' {
				gap++
			} else {
				gap, end = 0, j+1
			}
		}
		last := min(end+context, len(edits))
		hunk(&out, edits[first:last])
		i = last
	}
	return out.String()
}

type edit struct {
	op   byte // ' ', '-', '+'
	text string
	a, b int // line numbers before the edit
}

func hunk(out *strings.Builder, edits []edit) {
	na, nb := 0, 0
	for _, e := range edits {
		if e.op != '+' {
			na++
		}
		if e.op != '-' {
			nb++
		}
	}
	start := func(before, n int) int {
		if n == 0 {
			return before
		}
		return before + 1
	}
	fmt.Fprintf(out, "@@ -%d,%d +%d,%d @@\n", start(edits[0].a, na), na, start(edits[0].b, nb), nb)
	for _, e := range edits {
		fmt.Fprintf(out, "%c%s\n", e.op, e.text)
	}
}

func lines(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// compareLines finds a longest common subsequence of the lines, after removing equal lines
// at both ends.
func compareLines(a, b []string) []edit {
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	ma, mb := a[head:len(a)-tail], b[head:len(b)-tail]
	lcs := make([][]int, len(ma)+1)
	for i := range lcs {
		lcs[i] = make([]int, len(mb)+1)
	}
	for i := len(ma) - 1; i >= 0; i-- {
		for j := len(mb) - 1; j >= 0; j-- {
			if ma[i] == mb[j] {
				lcs[i][j] = lcs[i+1][j+1] + 1
			} else {
				lcs[i][j] = max(lcs[i+1][j], lcs[i][j+1])
			}
		}
	}
	var edits []edit
	add := func(op byte, text string, i, j int) { edits = append(edits, edit{op, text, i, j}) }
	for i := range head {
		add(' ', a[i], i, i)
	}
	i, j := 0, 0
	for i < len(ma) || j < len(mb) {
		switch {
		case i < len(ma) && j < len(mb) && ma[i] == mb[j]:
			add(' ', ma[i], head+i, head+j)
			i, j = i+1, j+1
		case j == len(mb) || i < len(ma) && lcs[i+1][j] >= lcs[i][j+1]:
			add('-', ma[i], head+i, head+j)
			i++
		default:
			add('+', mb[j], head+i, head+j)
			j++
		}
	}
	for k := range tail {
		add(' ', a[len(a)-tail+k], len(a)-tail+k, len(b)-tail+k)
	}
	return edits
}
