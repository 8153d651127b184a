//go:build linux

package main

import (
	"flag"
	"slices"
	"strings"
)

// joinDirect turns -direct auto into -direct=auto. Package flag would take auto for the name
// of a program.
func joinDirect(fs *flag.FlagSet, args []string) []string {
	for i := 0; i+1 < len(args) && strings.HasPrefix(args[i], "-"); i++ {
		name := strings.TrimPrefix(strings.TrimPrefix(args[i], "-"), "-")
		f := fs.Lookup(name)
		switch {
		case name == "": // no flag can follow
			return args
		case f == nil: // the argument includes its value, or the flag is unknown
		case name == "direct":
			if v := args[i+1]; v == "auto" || v == "on" || v == "off" {
				args = slices.Replace(slices.Clone(args), i, i+2, args[i]+"="+v)
			}
		default:
			if b, ok := f.Value.(interface{ IsBoolFlag() bool }); !ok || !b.IsBoolFlag() {
				i++ // skip the value
			}
		}
	}
	return args
}
