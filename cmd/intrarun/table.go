//go:build linux

package main

import (
	"slices"
	"strconv"
)

// row describes one flag. The parser, the rules about combinations, the help, and the table in
// docs/flags.md use the rows.
type row struct {
	name     string
	group    group
	common   bool     // one of the ten flags that the help lists first
	arg      string   // name of the argument; "": the flag has none
	optional bool     // the flag may be given without its argument
	repeats  bool     // all its arguments count, and not only the last one
	off      []string // arguments that have the same effect as omitting the flag
	does     string   // the effect of the flag, in one sentence or more
	initial  string   // the default; "" if does contains it
	set      setter
	needs    []need
	excludes []clash
	now      string // prefix of the argument in -fault, for a flag that is an old spelling
}

// group is a heading of the help and of the table.
type group string

const (
	replicas   group = "Ranks, replicas and cores"
	hosts      group = "Several hosts"
	links      group = "Links and sharing: what replicas send each other, and how"
	losses     group = "Recovery: replacements, backups and files"
	corruption group = "Silent corruption"
	bugs       group = "Find a bug, a deadlock or a slow kernel"
	output     group = "Output: what a job reports while it runs and at its end"
	faults     group = "Fault injection"
	old        group = "Old spellings, which only this version reads"
)

var groups = []group{replicas, hosts, links, losses, corruption, bugs, output, faults, old}

// table contains all flags in the order of the help.
var table = slices.Concat(replicaFlags, hostFlags, linkFlags, recoveryFlags, corruptionFlags, bugFlags, outputFlags, faultFlags)

// find returns the row of a flag. The flag must exist.
func find(name string) *row {
	return &table[slices.IndexFunc(table, func(r row) bool { return r.name == name })]
}

// isOff reports whether the flag with that argument has the same effect as omitting it.
func (r *row) isOff(text string) bool {
	if r.arg == "" {
		on, err := strconv.ParseBool(text)
		return err == nil && !on
	}
	return text == "" || slices.Contains(r.off, text)
}
