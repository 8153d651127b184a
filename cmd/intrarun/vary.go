//go:build linux

package main

import (
	"fmt"
	"slices"
	"strings"
)

// besideVary are the flags that make sense with -vary. Its sets have one replica of each
// rank, none of which dies, on this host.
var besideVary = []string{"vary", "n", "r", "seed", "threads", "link", "ring", "limit", "bind", "report", "stuck", "endless", "stdin", "status-every", "v", "quiet"}

// checkVaried says what is given that contradicts -vary. It makes the number of replicas
// 1 where that is left open.
func checkVaried(given map[string]bool, replicas *int) error {
	var others []string
	for name := range given {
		if !slices.Contains(besideVary, name) {
			others = append(others, "-"+name)
		}
	}
	if slices.Sort(others); len(others) > 0 {
		return fmt.Errorf("-vary runs its sets without replicas on this host, and nothing is killed, shared or saved there: leave out %s", strings.Join(others, ", "))
	}
	if !given["r"] {
		*replicas = 1
	}
	if *replicas != 1 {
		return fmt.Errorf("-vary -r %d: replicas of a rank have to agree, and sets are to differ: leave out -r", *replicas)
	}
	return nil
}
