package generate

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The table of lines maps an unchanged line of a twin to its line in the source, a launch to
// its call, and the beginning and end of a section to that section.
func TestLinesOfTwins(t *testing.T) {
	table := regexp.MustCompile(`Lines\("([^"]*)"\)`)
	opens := regexp.MustCompile(`\.At\("[^/]+/[^"]+:(\d+)"`)
	launch := regexp.MustCompile(`^(?:.*\.)?[lL]aunch\w*[[(]`)
	twins, err := filepath.Glob("../../../../testdata/generate/*/*_intra*.go")
	require.NoError(t, err)
	more, err := filepath.Glob("../../../../examples/*/sections_intra.go")
	require.NoError(t, err)
	checked := map[string]int{}
	for _, twin := range append(twins, more...) {
		text, err := os.ReadFile(twin)
		require.NoError(t, err)
		pairs := table.FindSubmatch(text)
		if pairs == nil {
			continue
		}
		source, err := os.ReadFile(strings.Replace(twin, "_intra", "", 1))
		require.NoError(t, err)
		from, to := trimmed(source), trimmed(text)
		begun := false
		for i, pair := range strings.Fields(string(pairs[1])) {
			at, line, end := 0, 0, len(to)+1
			_, err := fmt.Sscanf(pair, "%d:%d", &at, &line)
			require.NoError(t, err)
			if rest := strings.Fields(string(pairs[1]))[i+1:]; len(rest) > 0 {
				_, err := fmt.Sscanf(rest[0], "%d:", &end)
				require.NoError(t, err)
			}
			for ; at < end; at, line = at+1, line+1 {
				got, was := to[at-1], from[line-1]
				place := fmt.Sprintf("%s:%d is line %d, %q and %q", twin, at, line, got, was)
				switch open, l := opens.FindStringSubmatch(got), launch.FindStringSubmatch(got); {
				case open != nil:
					require.Equal(t, open[1], fmt.Sprint(line), place)
					checked["open"]++
				case l != nil:
					require.Contains(t, was, "(", place)
					checked["launch"]++
				case strings.HasSuffix(got, ".MustEnd()"), got == "{", got == "}":
					begun = true
				default:
					require.Equal(t, was, got, place)
					checked["same"]++
				}
			}
		}
		require.True(t, begun, twin)
	}
	for _, what := range []string{"open", "launch", "same"} {
		require.Greater(t, checked[what], 50, what)
	}
}
