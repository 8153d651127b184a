package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPingpong(t *testing.T) {
	for _, link := range linkKinds {
		var out bytes.Buffer
		args := []string{"pingpong", "-link", link, "-degrees", "1,1 2,1", "-max", "64", "-rounds", "1", "-time", "1ms"}
		require.NoError(t, run(t.Context(), args, &out, &out))
		require.Regexp(t, `^ +`+link+` +1,1 µs +MB/s +ratio +2,1 µs +MB/s +ratio\n( +(1|8|64)( +[\d.]+){6}\n){3}protocol, .*: +\[1 1\] \d+ \(ratio 1.00\) +\[2 1\] \d+ `, out.String())
	}
}

func TestCollectives(t *testing.T) {
	var out bytes.Buffer
	args := []string{"collectives", "-link", "inproc", "-degrees", "1,1 2,1,2", "-rounds", "1", "-count", "2"}
	require.NoError(t, run(t.Context(), args, &out, &out))
	for _, op := range operations {
		require.Regexp(t, `(?m)^ +`+op.name+` +\d+( +[\d.]+){2}$`, out.String())
	}
}

func TestWrongDegrees(t *testing.T) {
	for _, d := range []string{"1", "1,1,1", "0,1", "x", "1,65"} {
		var out bytes.Buffer
		require.ErrorContains(t, run(t.Context(), []string{"pingpong", "-degrees", d}, &out, &out), "degrees")
	}
	var out bytes.Buffer
	require.ErrorContains(t, run(t.Context(), []string{"collectives", "-link", "pigeon"}, &out, &out), "unknown link")
}
