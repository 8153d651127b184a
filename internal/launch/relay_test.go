package launch

import (
	"io"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/agent/agentd"
	"github.com/intrahpc/intra/internal/agent/agentwire"
	"github.com/intrahpc/intra/internal/agent/output"
	"github.com/intrahpc/intra/internal/head/arbiter"
	"github.com/intrahpc/intra/internal/head/decision"
)

// carried is a relay, and a head whose output it writes.
type carried struct {
	relay       *relay
	there, here *strings.Builder // what the relay and the head have written
	carrier     *carrier
	console     *output.Console // of the head
	resync      agentd.Resync
	code        chan int // the exit code that the relay has received; -1: the connection has ended
}

func carry(t *testing.T) *carried {
	a, b := net.Pipe()
	t.Cleanup(func() { a.Close(); b.Close() })
	x := &carried{there: new(strings.Builder), here: new(strings.Builder), code: make(chan int, 1)}
	console := output.NewConsole(x.there, x.there)
	t.Cleanup(console.Close)
	heads := new(agentd.Pursuit)
	heads.Start()
	x.relay = &relay{console: console, heads: heads, over: make(chan struct{}), written: [][2]output.Written{{{Lines: 7}, {}}}, answers: make(map[uint32]chan string)}
	go func() {
		code, err := x.relay.serve(a, 0)
		if err != nil {
			code = -1
		}
		x.code <- code
	}()
	x.carrier = newCarrier(agentwire.NewConn(b))
	f, err := x.carrier.conn.Read()
	require.NoError(t, err)
	require.Equal(t, agentwire.KindResync, f.Kind)
	require.NoError(t, f.Decode(&x.resync))
	go x.carrier.serve(nil)
	x.console = output.NewCarried(x.carrier, func(func(output.Stream, error)) [2]io.Writer { return [2]io.Writer{x.here, x.here} })
	t.Cleanup(x.console.Close)
	return x
}

// A relay writes the output that the head sends, and records the position up to which it has
// written. It receives the exit code after that.
func TestRelay(t *testing.T) {
	x := carry(t)
	require.Equal(t, [][2]output.Written{{{Lines: 7}, {}}}, x.resync.Written)
	require.True(t, x.console.Emit(output.Piece{From: output.Written{Lines: 7}, Text: []byte("one\ntw")}))
	require.True(t, x.console.Emit(output.Piece{From: output.Written{Lines: 8, Cut: 2}, Continues: true, Text: []byte("o\n")}))
	require.True(t, x.console.Emit(output.Piece{Rank: -1, Stream: output.Stderr, Text: []byte("intrarun: a note\n")}))
	require.Equal(t, "one\ntwo\nintrarun: a note\n", x.there.String())
	require.Equal(t, output.Written{Lines: 9}, x.relay.written[0][output.Stdout])
	require.Zero(t, x.relay.written[0][output.Stderr])
	require.True(t, x.carrier.bye(4))
	require.Equal(t, 4, <-x.code)
	require.Empty(t, x.here.String())
}

// If a relay leaves or is lost, the head writes the output from that position. A head that retires
// writes nothing.
func TestRelayEnds(t *testing.T) {
	lost := arbiter.Committed{Entry: decision.Entry{Kind: decision.Lost, Node: arbiter.Head}}
	other := arbiter.Committed{Entry: decision.Entry{Kind: decision.Lost, Node: agentd.FirstAgent}}
	for name, s := range map[string]struct {
		end  func(x *carried)
		here string
	}{
		"it leaves": {func(x *carried) { x.relay.leave() }, "two\n"},
		"it is lost while it writes": {func(x *carried) {
			x.relay.writing.Lock()
			go x.carrier.heed(lost)
		}, "two\n"},
		"its connection breaks, and it is lost": {func(x *carried) {
			x.relay.conn.Close()
			<-x.code
			go x.carrier.heed(lost)
		}, "two\n"},
		"the head retires": {func(x *carried) {
			x.relay.writing.Lock()
			go x.carrier.heed(arbiter.Yield{})
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			x := carry(t)
			require.True(t, x.console.Emit(output.Piece{Text: []byte("one\n")}))
			x.carrier.heed(other)
			s.end(x)
			require.Equal(t, s.here != "", x.console.Emit(output.Piece{From: output.Written{Lines: 1}, Text: []byte("two\n")}))
			require.Equal(t, s.here, x.here.String())
			require.Equal(t, "one\n", x.there.String())
		})
	}
}

// A relay ends the connection to a head that sends nonsense.
func TestRelayRefusesNonsense(t *testing.T) {
	for _, body := range []string{"", strings.Repeat("\x00", pieceHeader-1), "\x02" + strings.Repeat("\x00", pieceHeader), "\x00\x04" + strings.Repeat("\x00", pieceHeader)} {
		x := carry(t)
		x.carrier.conn.Send(agentwire.KindCarry, agentwire.Name{}, []byte(body))
		require.Equal(t, -1, <-x.code)
	}
	x := carry(t)
	of, body := encodePiece(output.Piece{Rank: 1, Text: []byte("x")})
	x.carrier.conn.Send(agentwire.KindCarry, of, body)
	require.Equal(t, -1, <-x.code, "there is no rank 1")
	x = carry(t)
	x.carrier.conn.Send(agentwire.KindStart, agentwire.Name{}, nil)
	require.Equal(t, -1, <-x.code)
}
