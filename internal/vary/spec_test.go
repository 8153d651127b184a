package vary

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Spec{
		"sets=4,bits=1%":                             {Sets: 4, Bits: 0.01, Every: 1, Size: 1 << 30},
		"bits=1, sets=2":                             {Sets: 2, Bits: 1, Every: 1, Size: 1 << 30},
		"sets=2,order":                               {Sets: 2, Order: true, Every: 1, Size: 1 << 30},
		"sets=2,state=1e-12,every=10,size=4G":        {Sets: 2, State: []Disturbance{{Eps: 1e-12}}, Every: 10, Size: 4 << 30},
		"sets=3,state:cg.x=0.01%,state:y=.5,bits=.1": {Sets: 3, Bits: 0.1, State: []Disturbance{{"cg.x", 1e-4}, {"y", 0.5}}, Every: 1, Size: 1 << 30},
	} {
		s, err := Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, *s, text)
		again, err := Parse(s.String())
		require.NoError(t, err, text)
		again.Size = s.Size // which changes no result
		require.Equal(t, s, again, text)
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "is no part of it: want sets=N",
		"sets":                          `"sets" is no part of it`,
		"sets=1,bits=1%":                "sets=1: want 2 to 100 sets, of which the first is undisturbed",
		"sets=101,bits=1%":              "want 2 to 100",
		"sets=x,bits=1%":                "want 2 to 100",
		"sets=2":                        "how the sets are disturbed: give bits=P",
		"bits=1%":                       "how many sets of processes run: give sets=N",
		"sets=2,sets=3,bits=1%":         "sets is there twice",
		"sets=2,bits=0":                 "bits=0: want a share",
		"sets=2,bits=101%":              "bits=101%: want a share",
		"sets=2,bits=NaN":               "bits=NaN: want a share",
		"sets=2,bitz=1%":                `there is no "bitz": want sets=N`,
		"sets=2,order=1":                "is no part of it",
		"sets=2,order,order":            "order is there twice",
		"sets=2,state=1":                "state=1: want the part of a number",
		"sets=2,state:=1e-3":            `there is no "state:"`,
		"sets=2,state:x=-1":             "state:x=-1: want the part",
		"sets=2,state=1e-3,state:x=1-3": "state:x=1-3: want the part",
		"sets=2,state=1e-3,state:x=.1":  "state=EPS disturbs all variables",
		"sets=2,bits=1%,every=0":        "every=0: want 1 or more safe points",
		"sets=2,bits=1%,size=0":         "size=0: want a number of bytes",
		"sets=2,bits=1%,size=1T":        "size=1T: want a number of bytes",
	} {
		_, err := Parse(text)
		require.ErrorContains(t, err, want, text)
	}
}
