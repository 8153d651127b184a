package annotations

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseState(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"skip(a)", "a@6"},
		{" skip( a, b ) skip(c) // made again", "a@8 b@11 c@20"},
		{"skip()", "6: found ), want the name of a field"},
		{"skip(a", "7: found the end of the line, want ) or , in clause skip"},
		{"skip(a b)", "8: found b, want ) or , in clause skip"},
		{"skip a", "6: found a, want ( after skip"},
		{"in(a)", "1: found in, want skip(field, …): every other field is saved"},
		{"a.b", "1: found a, want skip(field, …)"},
		{"skip(*a)", "6: found *, want the name of a field: write the bare name"},
		{"skip('a)", "6: rune literal not terminated"},
	} {
		t.Run(c.text, func(t *testing.T) {
			skip, errs := ParseState(c.text, 1)
			if len(errs) > 0 {
				require.Contains(t, position(errs[0])+": "+errs[0].Msg, c.want)
				return
			}
			var got []string
			for _, id := range skip {
				got = append(got, id.Name+"@"+decimal(int(id.Pos)))
			}
			require.Equal(t, c.want, strings.Join(got, " "))
		})
	}
}

func FuzzParseState(f *testing.F) {
	for _, text := range []string{"", "skip(a, b)", "skip(a) skip(b", "skip\x00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		skip, errs := ParseState(text, 1)
		for _, id := range skip {
			require.Equal(t, id.Name, text[id.Pos-1:int(id.Pos)-1+len(id.Name)])
		}
		for _, e := range errs {
			require.True(t, 1 <= e.Pos && int(e.Pos) <= len(text)+1)
		}
	})
}
