//go:build linux

package main

import (
	"flag"
	"fmt"
	"os"
)

// quietFlag defines -quiet.
func quietFlag(fs *flag.FlagSet) *bool {
	return fs.Bool("quiet", false, "print no progress on standard error")
}

// tellRound prints to standard error which round begins. what names the measurement, unless it
// is empty.
func tellRound(what string, round, rounds int) {
	if what != "" {
		what += ": "
	}
	fmt.Fprintf(os.Stderr, "%sround %d of %d\n", what, round+1, rounds)
}
