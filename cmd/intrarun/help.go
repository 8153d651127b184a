//go:build linux

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

const usage = `usage: intrarun [flags] PROGRAM [args]

Runs PROGRAM as a job of N ranks with R replicas each. If PROGRAM is an executable file (without a
slash also one in PATH), it is run; otherwise it is built as a Go package with the build tag intra.

  intrarun status [-json] [JOB]   prints what each process of a job on this host does;
                                  JOB is the process ID of intrarun
  intrarun drain [-within DURATION] JOB HOST|RANK.REPLICA
                                  moves the processes of a host, or one process, to other hosts
                                  at their next safe points; they end after DURATION, like 30s,
                                  if another replica goes on
  intrarun degree JOB RANK=N...   sets how many replicas ranks have from their next safe points on,
                                  in a running job whose -r or -degrees has a range
  intrarun grow JOB HOST[:SLOTS]...
                                  makes hosts join a running job with -replace or -spares
  intrarun join [-name NAME] [-slots N] [-rack NAME] [-addr ADDRESS] [-tls] HEAD-ADDRESS...
                                  makes this host a part of a running job with -replace or
                                  -spares, with room for N processes; the status prints the command
  intrarun report FILE [FILE2]    prints a report of -report, or compares two
  intrarun -version               prints the version of intrarun

SIGQUIT (Ctrl-\) has intrarun print the status, too. A program with the name status, drain,
degree, grow, join or report is called ./status. docs/flags.md says which flags are for what.
`

// helpWidth is the width of the help in columns. helpIndent is the column where the texts
// begin.
const helpWidth, helpIndent = 100, 26

// help returns the output of -h: first the common flags, then the others by group.
func help() string {
	var b strings.Builder
	b.WriteString(usage)
	section := func(heading string, in func(*row) bool) {
		fmt.Fprintf(&b, "\n%s\n", heading)
		for i := range table {
			if r := &table[i]; in(r) {
				b.WriteString(r.help())
			}
		}
	}
	section("Common flags", func(r *row) bool { return r.common })
	for _, g := range groups {
		section(string(g), func(r *row) bool { return r.group == g && !r.common })
	}
	return b.String()
}

// help describes one flag in a few lines.
func (r *row) help() string {
	text := r.text()
	for _, rule := range r.rules(false) {
		if strings.HasPrefix(rule, "n") { // the usage does not begin with an argument
			rule = strings.ToUpper(rule[:1]) + rule[1:]
		}
		text += " " + rule + "."
	}
	if r.initial != "" {
		text += " (default " + r.initial + ")"
	}
	lines := wrap(text, helpWidth-helpIndent)
	next := "\n" + strings.Repeat(" ", helpIndent)
	first := "  " + r.usage()
	if len(first) >= helpIndent {
		first += next
	}
	return fmt.Sprintf("%-*s%s\n", helpIndent, first, strings.Join(lines, next))
}

// text describes the flag, and whether it can be repeated.
func (r *row) text() string {
	if r.repeats && r.now == "" {
		return r.does + " Repeatable."
	}
	return r.does
}

// usage formats the flag with its argument.
func (r *row) usage() string {
	switch {
	case r.arg == "":
		return "-" + r.name
	case r.optional:
		return "-" + r.name + " [" + r.arg + "]"
	}
	return "-" + r.name + " " + r.arg
}

// rules lists the flags that the flag needs and excludes, one phrase for each. With reasons,
// each phrase contains its reason.
func (r *row) rules(reasons bool) (all []string) {
	add := func(text, why string) {
		if reasons {
			text += " (" + why + ")"
		}
		all = append(all, text)
	}
	for _, n := range r.needs {
		add("needs "+spell(n.any), n.why)
	}
	for i := 0; i < len(r.excludes); {
		c := &r.excludes[i]
		var with []string
		for ; i < len(r.excludes) && r.excludes[i].like(c, reasons); i++ {
			with = append(with, spellTerm(r.excludes[i].with))
		}
		text := "not with " + alternatives(with)
		if c.when != nil {
			text = alternatives(c.arguments()) + ": " + text
		}
		add(text, c.why)
	}
	return all
}

// like reports whether two exclusions of a flag can be joined in one phrase.
func (c *clash) like(o *clash, reasons bool) bool {
	return slices.Equal(c.when, o.when) && (!reasons || c.why == o.why)
}

// arguments returns the arguments to which an exclusion applies, in the notation of the
// command line.
func (c *clash) arguments() []string {
	return slices.DeleteFunc(slices.Clone(c.when), func(a string) bool { return a == bare })
}

// wrap breaks a text into lines.
func wrap(text string, width int) (lines []string) {
	line := ""
	for _, w := range strings.Fields(text) {
		if line != "" && len(line)+1+len(w) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	return append(lines, line)
}

// flagInText matches flags, some with an argument, and command lines in quotes.
var flagInText = regexp.MustCompile(`(^|[ (])('[^']* [^']*'|-[a-z][a-z-]*(?:=false| (?:flip|defect|weibull):SPEC| (?:on|static|replicate|tcp|mpi|weibull|[0-9]))?)`)

// guide returns the part of docs/flags.md that lists all flags.
func guide() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nThe ten most common ones are in bold. `intrarun -h` prints the same.\n", guideHeading)
	for _, g := range groups {
		fmt.Fprintf(&b, "\n### %s\n\n| flag | what it does | default | with other flags |\n| --- | --- | --- | --- |\n", g)
		for i := range table {
			if r := &table[i]; r.group == g {
				fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.cell(), inCode(r.text()), inCode(r.initial), inCode(strings.Join(append(r.rules(true), r.excluded()...), "; ")))
			}
		}
	}
	return b.String()
}

// guideHeading is the heading of that part of docs/flags.md.
const guideHeading = "## All flags"

// cell formats the first cell of a flag's row.
func (r *row) cell() string {
	if r.common {
		return "**`" + r.usage() + "`**"
	}
	return "`" + r.usage() + "`"
}

// excluded lists the other flags whose rules exclude this one.
func (r *row) excluded() (all []string) {
	for i := range table {
		for _, c := range table[i].excludes {
			name, argument, one := strings.Cut(c.with, "=")
			if name != r.name {
				continue
			}
			text := "not with -" + table[i].name
			if c.when != nil {
				text += " " + alternatives(c.arguments())
			}
			if one {
				text = argument + ": " + text
			}
			all = append(all, text+" ("+c.why+")")
		}
	}
	return all
}

// inCode marks flags in a text as code.
func inCode(text string) string { return flagInText.ReplaceAllString(text, "$1`$2`") }
