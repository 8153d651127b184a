package supervise

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

// manyPeers returns a message that names n processes.
func manyPeers(n int) *job.Message {
	m := &job.Message{Kind: job.KindStart}
	for i := range n {
		m.Peers = append(m.Peers, job.Peer{Process: job.Process{Rank: i}, Incarnation: 1, Link: job.LinkTCP, Address: "[2001:db8:1234:5678:9abc:def0:1234:5678]:65535"})
	}
	return m
}

// controlled returns both ends of the control connection of a process.
func controlled(t *testing.T) (head, process *job.Conn) {
	head, f, err := job.Pair()
	require.NoError(t, err)
	process, err = job.NewConn(f)
	require.NoError(t, err)
	f.Close()
	t.Cleanup(func() { head.Close(); process.Close() })
	return head, process
}

func TestMailboxOfALargeJob(t *testing.T) {
	head, process := controlled(t)
	box := newMailbox(head, func(err error) { t.Error(err) })
	defer box.close()
	box.send(manyPeers(10_000))
	m, _, err := process.Read()
	require.NoError(t, err)
	require.Len(t, m.Peers, 10_000)
}

// The mailbox reports a message that it cannot send. It does not send the messages after it.
func TestMailboxReportsFailedMessages(t *testing.T) {
	head, process := controlled(t)
	failures := make(chan error, 3)
	box := newMailbox(head, func(err error) { failures <- err })
	defer box.close()
	box.send(&job.Message{Kind: job.KindEnd, Text: strings.Repeat("x", job.MaxMessage)})
	box.send(&job.Message{Kind: job.KindRelease})
	require.ErrorContains(t, <-failures, `"end" has `)
	head.Close()
	_, _, err := process.Read()
	require.Equal(t, io.EOF, err)

	gone, _ := controlled(t)
	gone.Close()
	box = newMailbox(gone, func(err error) { failures <- err })
	box.send(&job.Message{Kind: job.KindRelease})
	r, w, err := os.Pipe()
	require.NoError(t, err)
	box.send(&job.Message{Kind: job.KindArena}, w) // closed once the previous message has failed
	_, err = r.Read(make([]byte, 1))
	require.Equal(t, io.EOF, err)
	require.Empty(t, failures, "the reader of a connection notices its end")
}
