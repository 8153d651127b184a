package jobsocket

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAsk(t *testing.T) {
	_, err := Ask(os.Getpid(), "status")
	require.ErrorContains(t, err, "is no intrarun of yours")
	jobs, err := Jobs()
	require.NoError(t, err)
	require.NotContains(t, jobs, os.Getpid())

	s, err := Serve(strings.ToUpper)
	require.NoError(t, err)
	jobs, err = Jobs()
	require.NoError(t, err)
	require.Contains(t, jobs, os.Getpid())
	for range 3 {
		got, err := Ask(os.Getpid(), "status")
		require.NoError(t, err)
		require.Equal(t, "STATUS", got)
	}
	_, err = Serve(strings.ToUpper)
	require.ErrorContains(t, err, "listen for questions about the job")
	require.NoError(t, s.Close())
	_, err = Ask(os.Getpid(), "status")
	require.ErrorContains(t, err, "is no intrarun of yours")
}
