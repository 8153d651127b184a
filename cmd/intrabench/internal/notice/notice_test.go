package notice

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/cmd/intrabench/internal/trial"
)

// made is a lab in which every step takes a known time. Processes make 100 passes per second
// alone and 180 together.
type made struct {
	order []string
	late  time.Duration // time after which the second replica helps
	spoil func(m *Moves)
}

func (l *made) Moves(_ context.Context, size, moves int) (Moves, error) {
	m := Moves{Bandwidth: 1e9}
	for i := range 10 {
		m.Passes = append(m.Passes, time.Time{}.Add(time.Duration(i)*20*time.Millisecond))
	}
	for i := range moves {
		drain := `{"drains":[{"bytes":` + jsonOf(size) + `,"stall_ms":` + jsonOf(10*(i+1)) + `,"seconds":` + jsonOf(i+1) + `}]}`
		var r report
		if err := json.Unmarshal([]byte(drain), &r); err != nil {
			return m, err
		}
		m.Drains = append(m.Drains, r.Drains...)
	}
	if l.spoil != nil {
		l.spoil(&m)
	}
	return m, nil
}

func jsonOf(n int) string { b, _ := json.Marshal(n); return string(b) }

func (l *made) Join(_ context.Context, alone, together time.Duration) (Passes, error) {
	l.order = append(l.order, "join")
	p := Passes{Joined: time.Time{}.Add(alone), Leaves: time.Time{}.Add(alone + together)}
	for at := p.Joined.Add(-alone); at.Before(p.Leaves); {
		d := time.Second / 100
		if !at.Before(p.Joined.Add(l.late)) {
			d = time.Second / 180
		}
		at = at.Add(d)
		p.At = append(p.At, at)
	}
	return p, nil
}

func (l *made) Pair(_ context.Context, d time.Duration) (Passes, error) {
	l.order = append(l.order, "pair")
	p := Passes{Leaves: time.Time{}.Add(d)}
	for at := p.Joined; at.Before(p.Leaves); at = at.Add(time.Second / 180) {
		p.At = append(p.At, at)
	}
	return p, nil
}

func TestMeasure(t *testing.T) {
	lab := &made{late: time.Second}
	m, err := Measure(t.Context(), lab, Options{Sizes: []int{100e6}, Moves: 3, Rounds: 3})
	require.NoError(t, err)
	s := m.Moves[0]
	require.InDelta(t, 0.02, s.Stall.Median, 1e-9)
	require.InDelta(t, 0.03, s.Stall.Max, 1e-9)
	require.InDelta(t, 2, s.Notice.Median, 1e-9)
	require.InDelta(t, 0.2+1.2*0.01, s.StallGoal, 1e-9)
	require.InDelta(t, 1+0.02+1.2*0.11, s.NoticeGoal, 1e-9)
	require.Equal(t, []string{"join", "pair", "pair", "join", "join", "pair"}, lab.order)
	require.InDelta(t, 1, m.Join.Ratio.Median, 0.01)
	require.InDelta(t, 100, m.Join.Alone.Median, 2)
	require.InDelta(t, 1, m.Join.Soon.Median, 0.2)
	require.Less(t, m.Join.Curve[0].Speed.Median, 0.6)
	require.InDelta(t, together.Seconds(), m.Join.Curve[len(m.Join.Curve)-1].Seconds+window.Seconds()/2, step.Seconds())
	var out bytes.Buffer
	require.NoError(t, m.Table(&out))
	require.Contains(t, out.String(), "  standstill     0.020  0.030  0.212  3\n")
	require.Contains(t, out.String(), "  notice needed  2.000  3.000  1.152  3\n")
	require.Contains(t, out.String(), "  ratio of these two (goal: 0.9)")

	b, err := json.Marshal(m)
	require.NoError(t, err)
	var back Measurement
	require.NoError(t, json.Unmarshal(b, &back))
	require.Equal(t, *m, back)
}

// A second replica that does not help is never fast.
func TestNeverFast(t *testing.T) {
	m, err := Measure(t.Context(), &made{late: time.Hour}, Options{Rounds: 1})
	require.NoError(t, err)
	require.Less(t, m.Join.Ratio.Median, 0.6)
	require.InDelta(t, together.Seconds(), m.Join.Soon.Median, 1e-9)
}

// Runs in which something else happened are refused.
func TestMeasureRefuses(t *testing.T) {
	for want, spoil := range map[string]func(m *Moves){
		"1 of 2 moves":     func(m *Moves) { m.Drains = m.Drains[1:] },
		"1 deaths":         func(m *Moves) { m.Failures = []json.RawMessage{nil} },
		"1 rollbacks":      func(m *Moves) { m.Rollbacks = []json.RawMessage{nil} },
		"a move of 0 byte": func(m *Moves) { m.Drains[0].Bytes = 0 },
		"in 0 s":           func(m *Moves) { m.Drains[1].Seconds = 0 },
	} {
		_, err := Measure(t.Context(), &made{spoil: spoil}, Options{Sizes: []int{1e6}, Moves: 2})
		require.ErrorIs(t, err, trial.ErrOutput)
		require.ErrorContains(t, err, want)
	}
}

// Each pass has to be reported once, in order.
func TestPasses(t *testing.T) {
	s := newStamped()
	for part := range strings.SplitSeq("0\n1,\n2\n,3\n", ",") {
		_, err := s.Write([]byte(part))
		require.NoError(t, err)
	}
	all, err := passes(s.lines())
	require.NoError(t, err)
	require.Len(t, all, 4)
	for _, wrong := range []string{"0\n0\n", "1\n", "0\n2\n", "0\nx\n"} {
		s := newStamped()
		_, err := s.Write([]byte(wrong))
		require.NoError(t, err)
		_, err = passes(s.lines())
		require.ErrorIs(t, err, trial.ErrOutput, wrong)
	}
}
