package annotations

import (
	"fmt"
	"strings"
)

// didYouMean returns " (did you mean x?)" for the candidate that is most similar to name. It
// returns "" if none is similar.
func didYouMean(name string, candidates []string) string {
	best, bestDist := "", len(name)/2+1
	for _, c := range candidates {
		if c == "" || c == name {
			continue
		}
		d := distance(strings.ToLower(name), strings.ToLower(c))
		if d < bestDist || d == bestDist && best == "" && d <= 1 {
			best, bestDist = c, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", best)
}

// distance returns the least number of edits that turn a into b. An edit inserts, deletes or
// replaces a letter, or swaps two neighbouring letters.
func distance(a, b string) int {
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}
