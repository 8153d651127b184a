// Package same compares what a program computes with its serial meaning.
package same

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/intratest"
)

// Everywhere runs the program alone and as one rank with 1, 2 and 3 replicas,
// without failures and with kills, and wants the bits that sum to want each
// time. Run it with and without the tag intra.
func Everywhere(t *testing.T, want string, kills []string, program func(*intra.Process) []float64) {
	t.Run("nil", func(t *testing.T) { require.Equal(t, want, Sum(program(nil))) })
	for _, replicas := range []int{1, 2, 3} {
		for _, kill := range append([]string{""}, kills...) {
			if kill != "" && (replicas == 1 || !Tagged) {
				continue // nobody would be left, or no task runs
			}
			t.Run(fmt.Sprintf("%d replicas %s", replicas, kill), func(t *testing.T) {
				var mu sync.Mutex
				results := map[int]string{}
				var opts []intratest.Option
				if kill != "" {
					opts = append(opts, intratest.Kills(strings.Fields(kill)...))
				}
				intratest.Run(t, intra.Spec{Ranks: 1, Replicas: replicas}, func(p *intra.Process) error {
					sum := Sum(program(p))
					mu.Lock()
					defer mu.Unlock()
					results[p.Replica()] = sum
					return nil
				}, opts...)
				require.GreaterOrEqual(t, len(results), replicas-len(strings.Fields(kill)))
				for _, sum := range results {
					require.Equal(t, want, sum)
				}
			})
		}
	}
}

// Sum is a hash of the bits of x.
func Sum(x []float64) string {
	h := sha256.New()
	for _, v := range x {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], math.Float64bits(v))
		h.Write(b[:])
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
