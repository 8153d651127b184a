package vary

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// parse parses flags as intravary does.
func parse(flags string) (s Spec, err error) {
	words := strings.Fields(flags)
	for i := 0; i < len(words); i++ {
		if words[i] == "-order" {
			s.Order = true
			continue
		}
		i++
		if err := s.Set(words[i-1][1:], words[i]); err != nil {
			return s, err
		}
	}
	return s, s.Check()
}

func TestFlagsOfSpec(t *testing.T) {
	for text, want := range map[string]Spec{
		"-sets 3 -bits 1%": {Sets: 3, Bits: 0.01, Every: 1, Size: 1 << 30},
		"-bits 1":          {Sets: 4, Bits: 1, Every: 1, Size: 1 << 30},
		"-sets 2 -order":   {Sets: 2, Order: true, Every: 1, Size: 1 << 30},
		"-hold 20ms":       {Sets: 4, Hold: 20 * time.Millisecond, Every: 1, Size: 1 << 30},
		"-sets 2 -state 1e-12 -every 10 -size 4G":  {Sets: 2, State: []Disturbance{{Eps: 1e-12}}, Every: 10, Size: 4 << 30},
		"-state cg.x=0.01% -state a=b=.5 -bits .1": {Sets: 4, Bits: 0.1, State: []Disturbance{{"cg.x", 1e-4}, {"a=b", 0.5}}, Every: 1, Size: 1 << 30},
	} {
		s, err := parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, s, text)
		again, err := parse(s.String())
		require.NoError(t, err, text)
		again.Size = s.Size // Size does not affect the results, so String omits it
		require.Equal(t, s, again, text)
	}
}

func TestRefusedFlagsOfSpec(t *testing.T) {
	for text, want := range map[string]string{
		"-sets 1":                   "want 2 to 100 sets, of which the first is undisturbed",
		"-sets 101":                 "want 2 to 100",
		"-sets x":                   "want 2 to 100",
		"-sets 2":                   "how the sets are disturbed: give -bits P",
		"-bits 0":                   "want a share",
		"-bits 101%":                "want a share",
		"-bits NaN":                 "want a share",
		"-state 1":                  "want the part of a number",
		"-state =1e-3":              "want EPS or NAME=EPS",
		"-state x=-1":               "want the part",
		"-state x=1-3":              "want the part",
		"-state 1e-3 -state x=1e-3": "-state EPS disturbs all variables",
		"-hold 2s":                  "want 1ms to 1s",
		"-hold x":                   "want 1ms to 1s",
		"-every 0":                  "want 1 or more safe points",
		"-size 0":                   "want a number of bytes",
		"-size 1T":                  "want a number of bytes",
	} {
		_, err := parse(text)
		require.ErrorContains(t, err, want, text)
	}
}
