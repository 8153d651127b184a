package launch

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/output"
)

// frameKind tells the frames apart that head and agent exchange. H: head to
// agent, A: agent to head.
type frameKind byte

const (
	framePlan    frameKind = iota + 1 // H order: what to start
	frameReady                        // A readiness
	frameProgram                      // H a piece of the program, nothing at its end
	frameStart                        // H number of the role
	frameStarted                      // A startResult
	frameHello                        // A job.Hello
	frameMessage                      // H A job.Message
	frameUnheard                      // A silence
	frameLink                         // H hostLink
	frameSignal                       // H number of the signal
	frameOutput                       // A stream and bytes, none at its end
	frameInput                        // H bytes, none at the end
	frameRoom                         // H A stream and number of bytes that have been taken
	frameStopped                      // A nanoseconds
	frameGone                         // A the program under a wrapper is gone
	frameExited                       // A exit
	frameFailed                       // A text
	frameRoster                       // H place
	frameQuiet                        // H A number: what was written so far has been taken
	frameAccount                      // A account, to a head that takes over
	frameWritten                      // H written
	frameBye                          // H exit code: the job is over
	frameNews                         // A news
)

// frame is a message between head and agent, most of them about one process.
type frame struct {
	kind    frameKind
	process job.Process
	body    []byte
}

const (
	frameHeader = 13                 // length of what follows it, kind, rank, replica
	maxFrame    = 2 * job.MaxMessage // of the body, in bytes: a message may be told again with more in it
)

var errFrame = errors.New("malformed frame")

func (f *frame) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(f.body)))
	b = append(b, byte(f.kind))
	b = binary.BigEndian.AppendUint32(b, uint32(f.process.Rank))
	b = binary.BigEndian.AppendUint32(b, uint32(f.process.Replica))
	return append(b, f.body...)
}

func readFrame(r io.Reader) (f frame, err error) {
	var h [frameHeader]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return f, err
	}
	n, rank, replica := binary.BigEndian.Uint32(h[:]), binary.BigEndian.Uint32(h[5:]), binary.BigEndian.Uint32(h[9:])
	f.kind = frameKind(h[4])
	if n > maxFrame || f.kind < framePlan || f.kind > frameNews || rank>>31 != 0 || replica>>31 != 0 {
		return f, errFrame
	}
	f.process = job.Process{Rank: int(rank), Replica: int(replica)}
	f.body = make([]byte, n)
	if _, err := io.ReadFull(r, f.body); err != nil {
		return f, fmt.Errorf("%w: %w", errFrame, io.ErrUnexpectedEOF)
	}
	return f, nil
}

// decode reads a body in JSON.
func (f *frame) decode(v any) error {
	if err := json.Unmarshal(f.body, v); err != nil {
		return fmt.Errorf("%w: %w", errFrame, err)
	}
	return nil
}

// number reads a body of 8 bytes.
func (f *frame) number() (uint64, error) {
	if len(f.body) != 8 {
		return 0, errFrame
	}
	return binary.BigEndian.Uint64(f.body), nil
}

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// room reads the body of a frameRoom.
func (f *frame) room() (output.Stream, int, error) {
	if len(f.body) != 5 {
		return 0, 0, errFrame
	}
	return output.Stream(f.body[0]), int(binary.BigEndian.Uint32(f.body[1:])), nil
}

func room(s output.Stream, n int) []byte {
	return binary.BigEndian.AppendUint32([]byte{byte(s)}, uint32(n))
}

// outputBody is the body of a frameOutput.
func outputBody(s output.Stream, b []byte) []byte { return append([]byte{byte(s)}, b...) }

// output returns what sends the output of a process.
func (m *mux) output(p job.Process, s output.Stream) func([]byte) {
	return func(b []byte) { m.send(frameOutput, p, outputBody(s, b)) }
}

// mux carries frames over a connection. Frames are sent by any goroutine, which
// never waits; one goroutine reads.
type mux struct {
	conn net.Conn
	r    *bufio.Reader

	mu     sync.Mutex
	some   *sync.Cond
	queue  [][]byte
	closed bool
	failed error         // why this side has ended the connection, nil if it has not
	sent   chan struct{} // closed when nothing more is sent
}

func newMux(c net.Conn) *mux {
	m := &mux{conn: c, r: bufio.NewReaderSize(c, 64<<10), sent: make(chan struct{})}
	m.some = sync.NewCond(&m.mu)
	go m.write()
	return m
}

func (m *mux) read() (frame, error) {
	f, err := readFrame(m.r)
	if err != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		err = cmp.Or(m.failed, err)
	}
	return f, err
}

// send sends a frame. One that is too large for the other side ends the
// connection, and read says so.
func (m *mux) send(kind frameKind, p job.Process, body []byte) {
	f := frame{kind: kind, process: p, body: body}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(body) > maxFrame && !m.closed {
		m.failed = fmt.Errorf("%w: a frame of kind %d about %v has %d bytes, at most %d are allowed", errFrame, kind, p, len(body), maxFrame)
		m.closed, m.queue = true, nil
		m.some.Signal()
		m.conn.Close()
	}
	if !m.closed {
		m.queue = append(m.queue, f.append(make([]byte, 0, frameHeader+len(body))))
		m.some.Signal()
	}
}

// sendJSON sends what always can be encoded.
func (m *mux) sendJSON(kind frameKind, p job.Process, v any) { m.send(kind, p, encode(v)) }

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Errorf("encode %T: %w", v, err))
	}
	return b
}

func (m *mux) write() {
	defer close(m.sent)
	for {
		m.mu.Lock()
		for len(m.queue) == 0 && !m.closed {
			m.some.Wait()
		}
		if len(m.queue) == 0 {
			m.mu.Unlock()
			return
		}
		b := m.queue[0]
		m.queue = m.queue[1:]
		m.mu.Unlock()
		if _, err := m.conn.Write(b); err != nil {
			m.drop() // the reader finds out
			return
		}
	}
}

func (m *mux) drop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed, m.queue = true, nil
	m.some.Signal()
}

// finish takes no more frames and waits until those are sent that it has, or
// the connection has ended.
func (m *mux) finish() {
	m.mu.Lock()
	m.closed = true
	m.some.Signal()
	m.mu.Unlock()
	<-m.sent
}

// close ends the connection at once.
func (m *mux) close() {
	m.drop()
	m.conn.Close()
}
