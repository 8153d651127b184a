package job

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseHosts(t *testing.T) {
	hosts, err := ParseHosts("h1:2, n[01-03,7].x:4,[fd77::1]:3,10.0.0.1,fd77--2")
	require.NoError(t, err)
	require.Equal(t, []Host{
		{Name: "h1", Slots: 2}, {Name: "n01.x", Slots: 4}, {Name: "n02.x", Slots: 4}, {Name: "n03.x", Slots: 4}, {Name: "n7.x", Slots: 4},
		{Name: "fd77::1", Slots: 3}, {Name: "10.0.0.1", Slots: 1}, {Name: "fd77--2", Slots: 1},
	}, hosts)
	for s, want := range map[string]string{
		"":                  "not the name of a host",
		"a,,b":              "not the name of a host",
		"a:0":               "number of slots",
		"a:x":               "number of slots",
		"a,a:2":             "a is named twice",
		"n[1-":              "not closed",
		"n[2-1]":            "not a range",
		"n[x]":              "not a range",
		"n[1-999999999]":    "not a range",
		"n[1-9999][1-9999]": "more than",
		"-oProxyCommand=x":  "not the name of a host",
		"a b":               "not the name of a host",
		"../etc":            "not the name of a host",
		"n[1-2]]":           "not the name of a host",
	} {
		_, err := ParseHosts(s)
		require.ErrorIs(t, err, ErrHosts, s)
		require.ErrorContains(t, err, want, s)
	}
}

func TestParseHostfile(t *testing.T) {
	hosts, err := ParseHostfile("f", strings.NewReader("# all of them\nh1 slots=2 rack=a addr=10.0.0.1 # the first\n\nn[1-2]\track=b\n"))
	require.NoError(t, err)
	require.Equal(t, []Host{{"h1", 2, "a", "10.0.0.1"}, {"n1", 1, "b", ""}, {"n2", 1, "b", ""}}, hosts)
	for s, want := range map[string]string{
		"":                     "f: invalid hosts: no host is named",
		"# h\n":                "no host",
		"a\nb slots=0":         "f:2: ",
		"a slots":              "want slots=N",
		"a cores=3":            "want slots=N",
		"a addr=nowhere":       "addr=nowhere",
		"n[1-2] addr=10.0.0.1": "2 hosts cannot have one address",
		"a\nb\na slots=3":      "a is named twice",
	} {
		_, err := ParseHostfile("f", strings.NewReader(s))
		require.ErrorIs(t, err, ErrHosts, s)
		require.ErrorContains(t, err, want, s)
	}
}

func FuzzExpandNames(f *testing.F) {
	for _, s := range []string{"n[01-04,7]", "a[1-2]b[3-4]", "[fd77::1]", "n[", "]", "n[1-]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		names, err := ExpandNames(s)
		if err != nil {
			require.ErrorIs(t, err, ErrHosts)
			return
		}
		require.NotEmpty(t, names)
		for _, n := range names {
			require.NotEmpty(t, n)
		}
	})
}
