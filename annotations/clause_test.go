package annotations

import (
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseTask(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"in(alpha, x) out(w)", "in[alpha@4 x@11] out[w@18]"},
		{"  inout( p ) // why", "inout[p@10]"},
		{"in(g,lo) out(g.z[lo:hi-1])", "in[g@4 lo@6] out[g.z[lo:hi-1]@14]"},
		{"out(v[:(n+1)*len(x)], u[2:])", "out[v[:(n+1)*len(x)]@5 u[2:]@23]"},
		{"in(x[a.First(lo, len(y)) : max(f(g.p, lo), 1)])", "in[x[a.First(lo, len(y)) : max(f(g.p, lo), 1)]@4]"},
		{"reduce(+: sum)", "reduce +[sum@11]"},
		{"reduce( max :m)", "reduce max[m@14]"},
		{"in(x) in(y)", "in[x@4] in[y@10]"},
		{"", ""},
		{"in(x) out", "10: found the end of the line, want ( after out"},
		{"in(x", "5: found the end of the line, want , or ) in clause in"},
		{"in()", "4: clause in is empty: name what it is about, or leave it out"},
		{"in(x y)", "6: found y, want , or ) in clause in"},
		{"in(*x)", "4: found *, want the name of a parameter, receiver or result: write the bare name, without * or &"},
		{"in(x.)", "6: found ), want the name of a field"},
		{"in(x[1])", "5: an item takes a slice expression, not an index: [1:1+1] names one element"},
		{"in(x[])", "6: empty brackets: write x for the whole of it, or x[lo:hi]"},
		{"in(x[1:2:3])", "9: found :, want ] at the end of the slice expression [lo:hi]"},
		{"in(x[1:2].y)", "10: an item takes one slice expression, and it comes last: x[1:2]."},
		{"in(x[1:+])", `8: "+" is not an expression`},
		{"in(x[(1:2])", `6: "(1:2]" is not an expression`},
		{"in(x[", "6: found the end of the line, want ] at the end of a slice expression"},
		{"inn(x)", `1: unknown clause "inn" of //intra:task (did you mean in?) (want in, out, inout, reduce, scratch or elementwise)`},
		{"+", "1: found +, want a clause: in, out, inout, reduce, scratch or elementwise"},
		{"in(x); out(y)", "6: found ; between clauses; clauses are separated by blanks, as in in(x) out(w)"},
		{"reduce(sum)", "11: found ), want : after the operator, as in reduce(+: sum)"},
		{"out(w) fused(waxpbyTo)", "8: clause fused is gone: updates are copied from where the kernel stores its result; leave it out"},
		{"in(\"x\")", `4: found "x", want the name of a parameter, receiver or result`},
		{"in('x)", "4: rune literal not terminated"},
	} {
		t.Run(c.text, func(t *testing.T) {
			clauses, errs := ParseTask(c.text, 1)
			if len(errs) > 0 {
				require.Contains(t, position(errs[0])+": "+errs[0].Msg, c.want)
				return
			}
			require.Equal(t, c.want, show(clauses))
		})
	}
}

func position(e *Error) string { return decimal(int(e.Pos)) }

func decimal(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return decimal(n/10) + decimal(n%10)
}

func show(clauses []Clause) string {
	var parts []string
	for _, c := range clauses {
		var items []string
		for _, it := range c.Items {
			items = append(items, it.Text+"@"+decimal(int(it.Pos())))
		}
		op := c.Op.Name
		if op != "" {
			op = " " + op
		}
		parts = append(parts, c.Kind.String()+op+"["+strings.Join(items, " ")+"]")
	}
	return strings.Join(parts, " ")
}

func TestParseSection(t *testing.T) {
	args, errs := ParseSection(" on(sim.p) sched(static)", 1)
	require.Empty(t, errs)
	require.Equal(t, SectionArgs{On: []Ident{{"sim", 5}, {"p", 9}}, Sched: "static"}, args)
	args, errs = ParseSection("keep sched(static)", 1)
	require.Empty(t, errs)
	require.Equal(t, SectionArgs{Sched: "static", Keep: true}, args)
	args, errs = ParseSection("sched(replicate) keep", 1)
	require.Empty(t, errs)
	require.Equal(t, SectionArgs{Sched: "replicate", Keep: true}, args)
	for text, want := range map[string]string{
		"keep keep":            "clause keep is there twice",
		"keep sched(adaptive)": "a section with keep has the schedule static: leave out sched(adaptive), or keep",
		"keep(x)":              "found (, want on(process)",
		"on(p[0])":             "found [, want ) after the process",
		"on(p) on(q)":          "clause on is there twice",
		"sched(static":         "found the end of the line, want ) after the schedule",
		"sched(statik)":        "unknown schedule statik (did you mean static?)",
		"schedule(other)":      `unknown clause "schedule" of //intra:section (did you mean sched?)`,
		"p":                    `unknown clause "p"`,
	} {
		_, errs := ParseSection(text, 1)
		require.NotEmpty(t, errs, text)
		require.Contains(t, errs[0].Msg, want)
	}
}

// FuzzParseTask requires that ParseTask either parses a whole text, or reports an error at a
// position within it. A parsed text must keep its meaning when it is formatted and parsed
// again.
func FuzzParseTask(f *testing.F) {
	for _, text := range []string{
		"in(alpha, x, beta, y) out(w)", "in(g, lo) out(g.z[lo:hi]) scratch(tmp)", "reduce(+: sum)", "out(w) fused(to)", "in(x[a+1:len(b)*2])",
		"in(x) // why", "out(x[(1:2])", "in(x", "reduce(max: m) in(\"x\")", "in(é) out(\x00)", "in(x[func(){}:])", "in(x[:`a\nb`])", "in(a)/*",
		"in(x[a.First(lo, len(y)):a.Last(lo, len(y))])", "in(x[f(g(lo), m.h):, p.q(i):])", "out(x[    #)",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		const base = 100
		clauses, errs := ParseTask(text, base)
		for _, e := range errs {
			require.GreaterOrEqual(t, e.Pos, token.Pos(base))
			require.LessOrEqual(t, e.Pos, token.Pos(base+len(text)))
			require.NotEmpty(t, e.Msg)
		}
		if len(errs) > 0 {
			return
		}
		for _, c := range clauses {
			require.NotEmpty(t, c.Items)
			for _, it := range c.Items {
				at := int(it.Pos()) - base
				require.True(t, strings.HasPrefix(text[at:], it.Text), "%q at %d of %q", it.Text, at, text)
				for _, b := range []*Bound{bounds(it).Lo, bounds(it).Hi} {
					if b != nil {
						at := int(b.Base) - base
						require.True(t, strings.HasPrefix(text[at:], b.Text))
					}
				}
			}
		}
		again, errs := ParseTask(write(clauses), base)
		require.Empty(t, errs, "%q", write(clauses))
		require.Equal(t, write(clauses), write(again))
	})
}

func bounds(it Item) Bounds {
	if it.Slice == nil {
		return Bounds{}
	}
	return *it.Slice
}

func write(clauses []Clause) string {
	var parts []string
	for _, c := range clauses {
		var items []string
		for _, it := range c.Items {
			items = append(items, it.Text)
		}
		list := strings.Join(items, ", ")
		if c.Op.Name != "" {
			list = c.Op.Name + ": " + list
		}
		parts = append(parts, c.Kind.String()+"("+list+")")
	}
	return strings.Join(parts, " ")
}

func FuzzParseSection(f *testing.F) {
	for _, text := range []string{"on(p)", "on(sim.p) sched(static)", "sched(adaptive) on(p)", "on(p", "sched()", "on(*p)"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		args, errs := ParseSection(text, 1)
		for _, e := range errs {
			require.LessOrEqual(t, int(e.Pos), 1+len(text))
		}
		if len(errs) == 0 && args.Sched != "" {
			require.Contains(t, Schedules, args.Sched)
		}
	})
}
