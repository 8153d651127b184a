package output

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

// replica is a process of a rank with its agent, which keeps its output for the next head.
type replica struct {
	*Process
	held *ReplayBuffer
}

func (r *replica) send(b []byte) { r.Process.Write(Stdout, b) }

func (r *replica) print(text string) { r.held.Write([]byte(text)) }

// resume continues the output at a position, which an earlier head may have decided.
func (r *replica) resume(t *testing.T, at Position) {
	b, err := json.Marshal(at)
	require.NoError(t, err)
	var same Position
	require.NoError(t, json.Unmarshal(b, &same))
	require.Equal(t, at, same)
	r.Resume(same, 0)
	r.held.Resume(same[Stdout].Written, same[Stdout].Text, false)
}

func rankOn(degree int) (*Rank, *screen, *Console) {
	s := new(screen)
	c := NewConsole(s, s)
	return NewRank(c, 0, degree), s, c
}

// confirm reports the written output to the agents.
func confirm(of *Rank, all ...*replica) {
	for _, r := range all {
		r.held.Confirm(of.Written()[Stdout])
	}
}

// follow gives the replicas another head. Muted replicas have no state yet.
func follow(of *Rank, all ...*replica) {
	for _, r := range all {
		muted := r.muted
		r.Process = NewProcess(r.process, of)
		from, out := r.held.Rewind()
		if r.muted = muted; !muted {
			r.Begin([Crashes]Written{from, {}}, [Crashes]Written{out, {}})
		}
	}
	for _, r := range all {
		r.held.Play(r.send)
	}
}

// The next head continues the output of the earlier one, each line once. That holds although
// one replica continues at the position of another one, and both have rolled back.
func TestOutputOfReplacementsAfterALossOfTheHead(t *testing.T) {
	of, out, c := rankOn(2)
	defer c.Close()
	start := func(i int, muted bool) *replica {
		p := job.Process{Replica: i}
		r := &replica{Process: NewProcess(p, of)}
		r.held = NewReplayBuffer(1<<10, true, r.send)
		if r.muted = muted; muted {
			r.held.Mute()
		}
		return r
	}
	b := start(1, false)
	of.streams[Stdout].died(0, nil, false)
	b.print("1\n2\n3")
	confirm(of, b)
	a := start(0, true)
	a.print("I wait for my state\n")
	confirm(of, a)
	backup := b.Position()
	a.resume(t, backup)
	a.print("3\n44\n")
	require.Equal(t, "1\n2\n33\n44\n", out.String())
	confirm(of, a, b)
	b.print("3\n")
	a.print("5\n") // and the head is lost before it reports that this line is written

	of, out, c = rankOn(2)
	defer c.Close()
	follow(of, a, b)
	require.Equal(t, "5\n", out.String())
	b.print("44\n5\n6\n")
	a.print("6\n")
	confirm(of, a, b)
	for _, r := range []*replica{a, b} { // both roll back
		r.Mute()
		r.print("half of something")
		r.resume(t, backup)
	}
	b.print("3\n44\n5\n6\n7\n")
	confirm(of, a, b)
	require.Equal(t, "5\n6\n", out.String(), "the lower one speaks")
	a.print("3\n44\n")

	of, out, c = rankOn(2)
	defer c.Close()
	follow(of, a, b)
	require.Empty(t, out.String(), "nothing is written twice")
	a.print("5\n6\n7\n8\n")
	require.Equal(t, "7\n8\n", out.String())
}

// The output of a rank that was lost with the head continues where its next
// process begins.
func TestOutputOfALostRankAfterALossOfTheHead(t *testing.T) {
	of, out, c := rankOn(1)
	defer c.Close()
	of.Lost()
	of.Skip([2]Written{{Lines: 2}, {}})
	p := NewMuted(job.Process{}, of)
	p.Resume(Position{{Written: Written{Lines: 5, Cut: 1}, Text: []byte("b")}, {Written: Written{Stream: Stderr}}}, 0)
	p.Write(Stdout, []byte("\nc\n"))
	require.Equal(t, "b\nc\n", out.String())

	of, out, c = rankOn(1)
	defer c.Close()
	of.Lost()
	of.Skip([2]Written{{Lines: 7}, {}})
	p = NewMuted(job.Process{}, of)
	p.Resume(Position{{Written: Written{Lines: 5}}, {Written: Written{Stream: Stderr}}}, 0)
	p.Write(Stdout, []byte("a\nb\nc\n"))
	require.Equal(t, "c\n", out.String(), "this position is known to be written")
}

// TestQuitIsNotACrash checks that the stacks that a process prints on SIGQUIT do not count as a
// crash.
func TestQuitIsNotACrash(t *testing.T) {
	r, _, c := rankOn(2)
	defer c.Close()
	for words, quit := range map[string]bool{"SIGQUIT: 0.0, 3.000 s after its start\n": true, "panic: SIGQUIT: \n": false, "": false} {
		p := NewProcess(job.Process{}, r)
		p.Write(Crashes, []byte(words+"."))
		require.Equal(t, quit, p.Quit(), words)
	}
}
