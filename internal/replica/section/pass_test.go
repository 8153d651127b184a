package section

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/sched"
)

// A replica that passes a section accepts no update of it: early updates are dropped,
// later ones are late. Its position and its chain of signatures are those of a replica
// that has entered and left the section.
func TestPass(t *testing.T) {
	r := New(Config{Replica: 0, Replicas: 2, InboxBytes: 1 << 20})
	require.False(t, r.Early())
	acts, err := r.Arrive(about(1, 1, 2), "early", false)
	require.NoError(t, err)
	require.Empty(t, acts)
	require.True(t, r.Early())
	require.NoError(t, r.Claimed(about(1, 0, 2), 0))

	acts, err = r.Pass(2, signature, time.Second)
	require.NoError(t, err)
	require.Equal(t, []Action{{Kind: Drop, Token: "early"}}, acts)
	require.EqualValues(t, 1, r.Number())
	require.Empty(t, r.Describe())
	require.False(t, r.Early(), "nothing about the next section")

	place, err := r.Announce(about(1, 0, 2), true)
	require.NoError(t, err)
	require.Equal(t, Discard, place)
	acts, err = r.Arrive(about(1, 0, 2), "late", false)
	require.NoError(t, err)
	require.Equal(t, []Action{{Kind: Drop, Token: "late"}}, acts)
	_, behind := r.Behind(0)
	require.False(t, behind)
	at, behind := r.Behind(1)
	require.True(t, behind)
	require.Zero(t, at)

	other := enter(t, 1, 2, sched.Replicate, 2)
	other.runAll(0)
	other.Leave()
	require.Equal(t, other.Position(), r.Position())

	// The next section is shared again.
	_, err = r.Enter(Entry{Policy: sched.Static, Tasks: 2, Signature: signature}, time.Second)
	require.NoError(t, err)
	next := about(1, 1, 2)
	next.Section = 1
	acts, err = r.Arrive(next, "now", false)
	require.NoError(t, err)
	require.Equal(t, []Action{{Kind: Apply, Task: 1, Peer: 1, Token: "now"}}, acts)
}

func TestPassFindsDivergence(t *testing.T) {
	wrong := about(1, 0, 2)
	wrong.Signature++
	for name, do := range map[string]func(m *Machine) error{
		"early": func(m *Machine) error {
			require.NoError(t, m.Claimed(wrong, 0))
			_, err := m.Pass(2, signature, 0)
			return err
		},
		"late": func(m *Machine) error {
			_, err := m.Pass(2, signature, 0)
			require.NoError(t, err)
			return m.Entered(wrong)
		},
		"returned": func(m *Machine) error {
			require.NoError(t, m.Finished(1, 0))
			_, err := m.Pass(2, signature, 0)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			var d *Divergence
			require.ErrorAs(t, do(New(Config{Replica: 0, Replicas: 2, InboxBytes: 1 << 20})), &d)
			require.Equal(t, 1, d.Peer)
		})
	}
}
