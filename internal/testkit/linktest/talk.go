package linktest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/transport"
)

// Talk sends frames of all sizes over a link to another process that does the same, checks
// the frames from there, and shuts the link down.
func Talk(t testing.TB, l transport.Link) {
	s := start(l, newRecorder(placeEither))
	number := 0
	for range 3 {
		for pieces := 1; pieces <= 5; pieces += 2 {
			for _, size := range sizes {
				s.send(newFrame(1, number, size, pieces, nil))
				number++
			}
		}
	}
	eventually(t, "all frames", func() bool { return s.count() == number })
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(t, s.Shutdown(ctx))
	s.gone(t, nil)
	s.settled(t)
	require.Equal(t, number, s.owners.handedOver())
	closeBoth(t, s)
}
