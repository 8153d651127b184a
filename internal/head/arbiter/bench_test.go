package arbiter

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/lease"
	"github.com/intrahpc/intra/internal/job"
)

// BenchmarkBeat measures the cost of one beat at both nodes, without the system calls: the
// beat is made, sealed, opened and handled.
func BenchmarkBeat(b *testing.B) {
	secret := job.Secret{1}
	aead, err := newAEAD(&secret)
	require.NoError(b, err)
	var roster []Peer
	for i := range 8 {
		roster = append(roster, Peer{ID: ID(i + 1), Host: string(rune('a' + i))})
	}
	now := lease.Now()
	from, err := NewNode(2, roster, DefaultTiming, now)
	require.NoError(b, err)
	to, err := NewNode(1, roster, DefaultTiming, now)
	require.NoError(b, err)
	s, o := newSealer(aead, 2), newOpener(aead, to.order)
	beats := 0
	for b.Loop() {
		now += time.Microsecond
		for _, a := range from.Tick(now) {
			if a, ok := a.(Send); ok && a.To == 1 {
				text, err := a.Message.encode()
				require.NoError(b, err)
				for _, d := range s.seal(text) {
					whole, _, err := o.open(d)
					require.NoError(b, err)
					if whole == nil {
						continue
					}
					m, err := decodeMessage(whole)
					require.NoError(b, err)
					to.Receive(m, now)
					beats++
				}
			}
		}
	}
	require.Positive(b, beats)
}

// BenchmarkHead measures the cost of one interval of beats for the head,
// without the system calls, by the number of hosts.
func BenchmarkHead(b *testing.B) {
	for _, hosts := range []int{8, 64, 256} {
		b.Run(fmt.Sprintf("%d-hosts", hosts), func(b *testing.B) {
			secret := job.Secret{1}
			aead, err := newAEAD(&secret)
			require.NoError(b, err)
			var roster []Peer
			for i := range hosts + 1 {
				roster = append(roster, Peer{ID: ID(i + 1), Host: fmt.Sprint("h", max(i, 1))})
			}
			now := lease.Now()
			nodes, sealers := make([]*Node, len(roster)), make([]*sealer, len(roster))
			for i, p := range roster {
				nodes[i], err = NewNode(p.ID, roster, DefaultTiming, now)
				require.NoError(b, err)
				sealers[i] = newSealer(aead, p.ID)
			}
			o := newOpener(aead, nodes[0].order)
			var spent time.Duration
			var datagrams, size, beats int
			var deliver func(from ID, actions []Action)
			deliver = func(from ID, actions []Action) {
				for _, a := range actions {
					a, ok := a.(Send)
					switch {
					case !ok:
					case from != Head && a.To != Head:
						deliver(a.To, nodes[a.To-1].Receive(a.Message, now))
					default:
						began := time.Now()
						text, err := a.Message.encode()
						require.NoError(b, err)
						sealed := sealers[from-1].seal(text)
						if from == Head {
							spent += time.Since(began)
						}
						for _, d := range sealed {
							datagrams, size = datagrams+1, size+len(d)
						}
						if from == Head {
							deliver(a.To, nodes[a.To-1].Receive(a.Message, now))
							continue
						}
						began = time.Now()
						var all []Action
						for _, d := range sealed {
							whole, _, err := o.open(d)
							require.NoError(b, err)
							if whole != nil {
								m, err := decodeMessage(whole)
								require.NoError(b, err)
								all = append(all, nodes[0].Receive(m, now)...)
							}
						}
						spent += time.Since(began)
						deliver(Head, all)
					}
				}
			}
			for b.Loop() {
				now += DefaultTiming.Detect.Interval
				for i := len(nodes) - 1; i >= 0; i-- {
					began := time.Now()
					actions := nodes[i].Tick(now)
					if i == 0 {
						spent += time.Since(began)
					}
					deliver(roster[i].ID, actions)
				}
				beats++
			}
			require.True(b, beats < 10 || nodes[0].Leads(now), "the head has no lease")
			b.ReportMetric(float64(spent.Microseconds())/float64(beats), "µs/interval")
			b.ReportMetric(float64(datagrams)/float64(beats), "datagrams/interval")
			b.ReportMetric(float64(size)/float64(datagrams), "bytes/datagram")
		})
	}
}
