package job

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseAgain(t *testing.T) {
	a, err := ParseAgain("2.1@3-17")
	require.NoError(t, err)
	require.Equal(t, Again{Process: Process{Rank: 2, Replica: 1}, From: 3, To: 17}, a)
	require.Equal(t, "again:2.1@3-17", a.Fault())
	for text, want := range map[string]string{
		"2.1":     "names no safe points",
		"2.1@3":   "names no safe points",
		"2@3-4":   "2",
		"2.1@0-4": `"0" in "2.1@0-4" is not the number of a safe point, from 1`,
		"2.1@3-x": `"x" in`,
		"2.1@3-3": "want a safe point after 3",
	} {
		_, err := ParseAgain(text)
		require.ErrorContains(t, err, want)
	}
}
