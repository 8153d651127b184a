package job

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestClone(t *testing.T) {
	for text, want := range map[string][]string{
		"0.1=strace -f -o a=b":        {"strace", "-f", "-o", "a=b", "./p", "x", "y"},
		"3.0= perf  record":           {"perf", "record", "./p", "x", "y"},
		"0.1=dlv exec {program} -- -": {"dlv", "exec", "./p", "--", "-", "x", "y"},
	} {
		c, err := ParseClone(text)
		require.NoError(t, err, text)
		require.Equal(t, want, c.Args("./p", []string{"x", "y"}))
		require.Equal(t, want, c.Args("./p", []string{"x", "y"}), "the second time")
		again, err := ParseClone(c.String())
		require.NoError(t, err)
		require.Equal(t, c, again)
		_, found := CloneOf([]Clone{c}, Process{Rank: 7})
		require.False(t, found)
		of, found := CloneOf([]Clone{c}, c.Process)
		require.True(t, found)
		require.Equal(t, c, of)
	}
	for text, want := range map[string]string{
		"0.1":           "is not a clone: want RANK.REPLICA=COMMAND",
		"0.1=":          "names no command",
		"0.1=  ":        "names no command",
		"0.1={program}": "names no command",
		"strace=0.1":    "\"strace\"",
		"":              "is not a clone",
	} {
		_, err := ParseClone(text)
		require.ErrorContains(t, err, want, text)
	}
	c, err := ParseClone("0.1=no-such-tool -x")
	require.NoError(t, err)
	_, err = c.Find()
	require.ErrorContains(t, err, "-clone 0.1=no-such-tool -x: exec: \"no-such-tool\": executable file not found")
}
