//go:build linux && system

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/netns"
)

// The commands measure small jobs over two hosts. The measured times are not checked.
func TestHosts(t *testing.T) {
	netns.TestPair(t).Close()
	for args, program := range map[string]string{
		"figures -app hpcg -hosts -nx 16 -ny 16 -nz 16 -limits 1GB/s":     "hpcg",
		"figures -hosts -nx 8 -ny 8 -nz 8 -iters 5 -limits 1GB/s -lag 1s": "HPCCG",

		"figures -app gtc -hosts -micell 2 -mpsi 10 -mthetamax 24 -steps 1 -tasks 4 -limits 1GB/s": "GTC",
	} {
		t.Run(program, func(t *testing.T) {
			var m any
			out := whole(t, args, &m)
			for _, part := range []string{program, "native at 1GB/s", "send at 1GB/s", "static at 1GB/s"} {
				require.Contains(t, out, part)
			}
			for _, without := range []string{"direct ", "auto "} {
				require.False(t, strings.Contains(out, "  "+without), without)
			}
		})
	}
}
