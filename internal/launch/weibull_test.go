package launch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/head"
)

func TestParseWeibull(t *testing.T) {
	w, err := parseWeibull("shape=0.7,mtbf=20s")
	require.NoError(t, err)
	require.Equal(t, &head.Weibull{Shape: 0.7, MTBF: 20 * time.Second}, w)
	w, err = parseWeibull("mtbf=1h30m, shape=2")
	require.NoError(t, err)
	require.Equal(t, &head.Weibull{Shape: 2, MTBF: 90 * time.Minute}, w)
	for s, want := range map[string]string{
		"":                    "want shape=S,mtbf=T like shape=0.7,mtbf=20s",
		"shape=0.7":           "want shape=S,mtbf=T",
		"mtbf=20s":            "want shape=S,mtbf=T",
		"20s":                 `"20s" has neither a shape nor an mtbf`,
		"shape=0.7,scale=3":   `"scale=3"`,
		"shape=0,mtbf=1s":     `shape "0": want a number from 0.1 to 100`,
		"shape=-1,mtbf=1s":    `shape "-1"`,
		"shape=NaN,mtbf=1s":   `shape "NaN"`,
		"shape=1e9,mtbf=1s":   `shape "1e9"`,
		"shape=,mtbf=1s":      `shape ""`,
		"shape=0.7,mtbf=20":   `mtbf "20": want a duration of at least 1ms, like 20s`,
		"shape=0.7,mtbf=0s":   `mtbf "0s"`,
		"shape=0.7,mtbf=-20s": `mtbf "-20s"`,
		"shape=0.7,mtbf=1ns":  `mtbf "1ns"`,
	} {
		_, err := parseWeibull(s)
		require.ErrorContains(t, err, want, "%q", s)
	}
}
