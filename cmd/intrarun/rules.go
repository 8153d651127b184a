//go:build linux

package main

import (
	"fmt"
	"slices"
	"strings"
)

// need is a condition of a flag: one of several other terms must hold.
type need struct {
	any []string // alternative terms
	why string
}

// clash is an exclusion: the flag cannot be combined with a term.
type clash struct {
	with string   // the excluded term
	when []string // the arguments of the flag to which the exclusion applies; nil: all
	why  string
	cure string // "": the cure is to leave out one of them
}

// A term is the name of a flag, or the name with an argument like sched=static, or a fact,
// which holds without a flag.
const (
	oneRank    = "a job of one rank"
	oneReplica = "a rank with one replica"
	hostList   = "a list of hosts"
)

func isFact(term string) bool { return strings.Contains(term, " ") }

// holds reports whether a term holds, and which part of the command line makes it hold.
func (o *options) holds(term string) (text string, ok bool) {
	if fact, ok := o.facts[term]; ok {
		return fact, true
	}
	name, argument, one := strings.Cut(term, "=")
	for _, text := range o.given[name] {
		switch {
		case one && matches(text, []string{argument}):
			return "-" + name + " " + argument, true
		case !one && !find(name).isOff(text):
			return "-" + name, true
		}
	}
	return "", false
}

// matches reports whether one of the comma-separated parts of an argument is a wanted word. A
// value may follow the word, as in dual,state=3.
func matches(argument string, wanted []string) bool {
	for part := range strings.SplitSeq(argument, ",") {
		word, _, _ := strings.Cut(part, "=")
		word, _, _ = strings.Cut(word, ":")
		if slices.Contains(wanted, word) {
			return true
		}
	}
	return false
}

// refuse returns the first rule of the table that the command line violates, as an error. It
// applies rules about hosts only once the hosts are known.
func (o *options) refuse(hostsKnown bool) error {
	for i := range table {
		r := &table[i]
		if _, ok := o.holds(r.name); !ok {
			continue
		}
		for _, n := range r.needs {
			if !hostsKnown && slices.Contains(n.any, hostList) {
				continue
			}
			if !slices.ContainsFunc(n.any, func(term string) bool { _, ok := o.holds(term); return ok }) {
				return fmt.Errorf("-%s needs %s, because %s: add %s, or leave out -%s", r.name, spell(n.any), n.why, cures(n.any), r.name)
			}
		}
		if err := o.clash(r, false); err != nil {
			return err
		}
	}
	return nil
}

// clash returns the first exclusion of a flag that the command line violates. With whatever,
// the flag counts as given, with an argument to which every exclusion applies.
func (o *options) clash(r *row, whatever bool) error {
	for _, c := range r.excludes {
		name := "-" + r.name
		if c.when != nil && !whatever {
			i := slices.IndexFunc(c.when, func(a string) bool { _, ok := o.holds(r.name + "=" + a); return ok })
			if i < 0 {
				continue
			}
			if c.when[i] != bare {
				name += " " + c.when[i]
			}
		}
		text, ok := o.holds(c.with)
		if !ok {
			continue
		}
		cure := "leave out one of them"
		if c.cure != "" {
			cure = c.cure
		}
		if isFact(c.with) {
			return fmt.Errorf("%s: %s, and %s: %s", name, text, c.why, cure)
		}
		return fmt.Errorf("%s and %s exclude each other, because %s: %s", name, text, c.why, cure)
	}
	return nil
}

// spell formats terms as alternatives, in the notation of the command line.
func spell(terms []string) string {
	all := make([]string, len(terms))
	for i, term := range terms {
		all[i] = spellTerm(term)
	}
	return alternatives(all)
}

// alternatives formats a list like "a, b or c".
func alternatives(all []string) string {
	if n := len(all); n > 1 {
		return strings.Join(all[:n-1], ", ") + " or " + all[n-1]
	}
	return all[0]
}

// spellTerm formats a term as on a command line.
func spellTerm(term string) string {
	if isFact(term) {
		return term
	}
	return "-" + strings.Replace(term, "=", " ", 1)
}

// cures returns the flags that make one of the terms hold.
func cures(terms []string) string {
	if slices.Contains(terms, hostList) {
		return "-hosts or -hostfile"
	}
	return spell(terms)
}
