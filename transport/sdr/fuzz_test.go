package sdr

import (
	"testing"

	"github.com/intrahpc/intra/transport"
)

// FuzzFrames feeds arbitrary frames to a core with messages in all states. The
// core may refuse them, but must not panic.
func FuzzFrames(f *testing.F) {
	f.Add([]byte{kindEager, 0, 0, 0, 0, 0, 0, 1, 42, 3, 'a', 'b', 'c'}, false)
	f.Add([]byte{kindOffer, 1, 0, 9, 0, 0, 0, 1, 42, 0}, true)
	f.Add([]byte{kindAck, 7, 1, 255, 255, 255, 255, 2, 42, 16, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, false)
	f.Add([]byte{kindData, 0, 0, 0, 0, 0, 0, 1, 42, 0, kindWant, 1, 0, 0, 0, 0, 0, 1, 0, 0}, true)
	f.Fuzz(func(t *testing.T, in []byte, replicated bool) {
		degrees := []int{1, 1}
		if replicated {
			degrees = []int{2, 2}
		}
		n := newNet(t, Limits{Eager: 8, Window: 1000, Retain: 500}, degrees...)
		n.recv(0, 1, 3)
		n.recv(0, Any, Any)
		n.ssend(0, "large enough", 1, 0)
		n.send(0, "m", 1, 0)
		c := n.cores[0]
		for len(in) >= 10 {
			h := transport.Header{Channel: transport.ChannelMessage, Kind: in[0] % (kindHolds + 1), Flags: uint16(in[7] >> 4)}
			from := len(degrees)*(degrees[0]-1) + int(in[7])%degrees[0]
			if !replicated {
				from = 1
			}
			h.Args = [6]uint64{uint64(in[8]), uint64(int8(in[1])), uint64(in[2]), uint64(in[3]), uint64(in[4]), uint64(in[5])}
			if h.Kind == kindWant || h.Kind == kindCredit {
				h.Args[0] = uint64(int8(in[1]))
			}
			size := min(int(in[9]), len(in)-10)
			payload := in[10 : 10+size]
			h.Size = uint64(size)
			switch in[6] % 4 {
			case 1:
				if size > 0 {
					c.incoming.Begin(from, &h)
					c.incoming.Torn(from, &h)
				}
			case 2:
				if size > 0 {
					c.incoming.Begin(from, &h)
				}
				_ = c.End(from, &h, payload)
			case 3:
				c.Dead(from)
			default:
				_ = c.End(from, &h, payload)
			}
			n.carry(0)
			in = in[10+size:]
		}
		c.matching.Probe(n.ctxs[0], Any, Any)
		n.recv(0, Any, Any)
		c.Free(n.ctxs[0])
	})
}
