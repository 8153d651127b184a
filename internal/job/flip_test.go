package job

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseFlip(t *testing.T) {
	for _, c := range []struct {
		parse   func(string) (Flip, error)
		in, err string
		want    Flip
	}{
		{ParseFlip, "1.2@task:7", "", Flip{Process: Process{1, 2}, Point: FlipTask, Count: 7, Bit: AnyBit}},
		{ParseFlip, "0.1@task:0:63", "", Flip{Process: Process{0, 1}, Point: FlipTask, Bit: 63}},
		{ParseFlip, "0.1@message:5:2", "", Flip{Process: Process{0, 1}, Point: FlipMessage, Count: 5, Bit: 2}},
		{ParseFlip, "0.1@update:9", "", Flip{Process: Process{0, 1}, Point: FlipUpdate, Count: 9, Bit: AnyBit}},
		{ParseFlip, "2.0@state:3", "", Flip{Process: Process{2, 0}, Point: FlipState, Count: 3, Bit: AnyBit}},
		{ParseFlip, "0.1@section:0", "is not a flip: want RANK.REPLICA@task:N", Flip{}},
		{ParseFlip, "0@task:0", "0", Flip{}},
		{ParseFlip, "0.1@task:-1", "is not a count from 0", Flip{}},
		{ParseFlip, "0.1@task:1:x", "is not the number of a bit", Flip{}},
		{ParseDefect, "0.1,q=0.001", "", Flip{Process: Process{0, 1}, Point: FlipTask, Bit: AnyBit, Rate: 0.001}},
		{ParseDefect, "0.1", "is not a defect: want RANK.REPLICA,q=RATE", Flip{}},
		{ParseDefect, "0.1,q=0", "is not a probability", Flip{}},
		{ParseDefect, "0.1,q=NaN", "is not a probability", Flip{}},
		{ParseDefect, "0.1,q=1.5", "is not a probability", Flip{}},
	} {
		t.Run(c.in, func(t *testing.T) {
			f, err := c.parse(c.in)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, f)
			require.Equal(t, c.in, f.String())
		})
	}
}

func TestParseVerification(t *testing.T) {
	for in, want := range map[string]*Verification{
		"off": nil, "dual": {Share: 1}, "sample": {Share: 0.01}, "sample=3%": {Share: 0.03}, "sample=0.25": {Share: 0.25},
		"state": {State: 1}, "state=10": {State: 10}, "dual,state": {Share: 1, State: 1}, "state=2,sample": {Share: 0.01, State: 2}, "sample=1%,state": {Share: 0.01, State: 1},
	} {
		got, err := ParseVerification(in)
		require.NoError(t, err, in)
		require.Equal(t, want, got, in)
	}
	for _, in := range []string{"", "on", "sample=", "sample=0", "sample=2", "sample=101%", "sample=NaN", "dual=1", "state=0", "state=", "state=-1", "state,state", "dual,sample", "off,state", "state,", "state=1.5"} {
		_, err := ParseVerification(in)
		require.Error(t, err, in)
	}
}
