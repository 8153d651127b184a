package annotations

import (
	"fmt"
	"go/token"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// runCheck ends messages about possible problems.
const runCheck = "; run with -check to see whether it "

// firstListed bounds the number of places that a message about a directive names.
const firstListed = 3

// listedAs combines the possible problems of one directive into one diagnostic. If there is
// one place, it reports that place. Otherwise it reports the number of places and the first
// ones.
func listedAs(fset *token.FileSet, directive token.Pos, of string, places []*Error) []analysis.Diagnostic {
	switch len(places) {
	case 0:
		return nil
	case 1:
		return []analysis.Diagnostic{{Pos: places[0].Pos, Message: places[0].Msg}}
	}
	var first []string
	for _, p := range places[:min(len(places), firstListed)] {
		text, _, _ := strings.Cut(p.Msg, runCheck)
		first = append(first, fmt.Sprintf("%s (%s)", text, lineOf(fset, p.Pos)))
	}
	rest := ""
	if n := len(places) - len(first); n > 0 {
		rest = fmt.Sprintf("; and %d more", n)
	}
	return []analysis.Diagnostic{{Pos: directive, Message: fmt.Sprintf("%s: %d accesses are possible that would be errors: %s%s; run with -check to see whether they happen", of, len(places), strings.Join(first, "; "), rest)}}
}
