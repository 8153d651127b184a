package job

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseKillSteps(t *testing.T) {
	for point, steps := range map[KillPoint][]string{KillJoin: JoinSteps, KillBackup: BackupSteps} {
		for _, step := range steps {
			s := "1.0@" + string(point) + ":" + step
			k, err := ParseKill(s)
			require.NoError(t, err)
			require.Equal(t, Kill{Process: Process{Rank: 1}, Point: point, Step: step}, k)
			require.Equal(t, s, k.String())
		}
	}
	_, err := ParseKill("0.1@join:nowhere")
	require.ErrorContains(t, err, `"nowhere" in "0.1@join:nowhere" is not a step of join: want ask, copy, drain,`)
	_, err = ParseKill("0.1@backup:3")
	require.ErrorContains(t, err, "is not a step of backup")
}

// TestOrdersTravel: messages about recovery do not change when they are encoded and
// decoded.
func TestOrdersTravel(t *testing.T) {
	for _, m := range []*Message{
		{Kind: KindOrder, Order: &Order{Kind: OrderAdmit, Generation: 2, Number: 7, Joined: []Peer{{Process: Process{1, 2}, Incarnation: 5}}}},
		{Kind: KindOrder, Order: &Order{Kind: OrderGo, Number: 7, Next: 9, Plan: []Copy{{Source: Process{0, 1}, Holder: Process{1, 0}}}}},
		{Kind: KindReply, Reply: &Reply{Kind: ReplyStored, Generation: 1, Number: 4, Rank: 3, Seconds: 0.25, Bytes: 9}},
	} {
		b, err := m.Encode()
		require.NoError(t, err)
		back, err := DecodeMessage(b)
		require.NoError(t, err)
		require.Equal(t, m, back)
	}
	for _, bad := range []string{`{"kind":"order"}`, `{"kind":"reply"}`} {
		_, err := DecodeMessage([]byte(bad))
		require.ErrorIs(t, err, ErrMessage)
	}
}
