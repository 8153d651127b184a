package launch

import (
	"encoding/binary"
	"sync"
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/agent/agentwire"
	"github.com/intrahpc/intra/internal/agent/output"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/head/arbiter"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

// carrier is a successor's end of the connection to the intrarun that the user started (relay.go).
// That intrarun writes the output of the job piece by piece, and confirms each piece. If it is
// lost, the piece that it has not confirmed may have been written.
type carrier struct {
	conn *agentwire.Conn

	mu        sync.Mutex
	changed   *sync.Cond
	sent      uint64 // number of pieces
	written   uint64 // number of pieces that were confirmed
	ended     bool   // the intrarun has ended: this head writes the output itself
	retired   bool   // this head has ended
	delivered bool   // the intrarun has received the exit code of the job
}

func newCarrier(conn *agentwire.Conn) *carrier {
	c := &carrier{conn: conn}
	c.changed = sync.NewCond(&c.mu)
	return c
}

// Carry makes the intrarun that the user started write a piece. If the connection ends, Carry keeps
// waiting: only the arbiter decides that the intrarun is lost, so that all heads agree.
func (c *carrier) Carry(p output.Piece) output.Fate {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.retired:
		return output.Abandoned
	case c.ended:
		return output.Returned
	}
	of, body := encodePiece(p)
	c.conn.Send(agentwire.KindCarry, of, body)
	c.sent++
	for c.written < c.sent && !c.ended && !c.retired {
		c.changed.Wait()
	}
	switch {
	case c.written == c.sent:
		return output.Carried
	case c.retired:
		return output.Abandoned
	}
	return output.Returned
}

// heed acts on reports of the arbiter, even while the goroutine of the head waits for a piece
// to be written. It does nothing if c is nil.
func (c *carrier) heed(a arbiter.Action) {
	if c == nil {
		return
	}
	switch a := a.(type) {
	case arbiter.Committed:
		if a.Entry.Kind == decision.Lost && a.Entry.Node == arbiter.Head {
			c.end()
		}
	case arbiter.Yield, arbiter.Fence, arbiter.Broken:
		c.retire()
	}
}

// end records that the intrarun that the user started has ended.
func (c *carrier) end() { c.set(&c.ended) }

// retire records that this head has ended.
func (c *carrier) retire() { c.set(&c.retired) }

func (c *carrier) set(flag *bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*flag = true
	c.changed.Broadcast()
}

// serve handles the frames of the intrarun that the user started, until the connection ends.
func (c *carrier) serve(d *driver) {
	for {
		f, err := c.conn.Read()
		if err != nil {
			return
		}
		switch f.Kind {
		case agentwire.KindCarried:
			c.mu.Lock()
			c.written = min(c.written+1, c.sent)
			c.changed.Broadcast()
			c.mu.Unlock()
		case agentwire.KindSignal:
			var s syscall.Signal
			if f.Decode(&s) == nil {
				go d.tell(head.Signalled{Signal: s, Final: true}) // the goroutine of the head may wait for a piece to be confirmed
			}
		case agentwire.KindAsk:
			go func() { c.conn.Send(agentwire.KindAnswer, f.Of, []byte(d.answerTo(string(f.Body)))) }()
		case agentwire.KindBye:
			c.set(&c.delivered)
		case agentwire.KindLeave:
			c.end()
		}
	}
}

// bye sends the exit code of the job, after all pieces. It reports whether the intrarun that the
// user started has received it. If not, this head writes the rest of the output.
func (c *carrier) bye(code int) bool {
	c.conn.SendJSON(agentwire.KindBye, agentwire.Name{}, code)
	late := time.AfterFunc(byeTime, c.end)
	defer late.Stop()
	c.mu.Lock()
	for !c.delivered && !c.ended {
		c.changed.Wait()
	}
	defer c.mu.Unlock()
	c.retired = c.delivered
	return c.delivered
}

// close closes the connection once everything is sent.
func (c *carrier) close() {
	c.retire()
	c.conn.SetDeadline(time.Now().Add(byeTime))
	c.conn.Finish()
	c.conn.Close()
}

// pieceHeader is the number of bytes before the text of a piece: the stream, flags, and the
// position as two numbers.
const pieceHeader = 18

// Flags of a piece.
const (
	pieceContinues = 1 << iota
	pieceOwn       // a line of intrarun, which belongs to no rank
)

// encodePiece returns the name and the body of the frame that carries a piece.
func encodePiece(p output.Piece) (of agentwire.Name, body []byte) {
	body = make([]byte, 2, pieceHeader+len(p.Text))
	body[0] = byte(p.Stream)
	if p.Continues {
		body[1] |= pieceContinues
	}
	if p.Rank < 0 {
		body[1] |= pieceOwn
		p.Rank = 0
	}
	body = binary.BigEndian.AppendUint64(body, uint64(p.From.Lines))
	body = binary.BigEndian.AppendUint64(body, uint64(p.From.Cut))
	return agentwire.Name{ID: job.Process{Rank: p.Rank}}, append(body, p.Text...)
}

// decodePiece is the inverse of encodePiece.
func decodePiece(f *agentwire.Frame) (p output.Piece, err error) {
	b := f.Body
	if len(b) < pieceHeader || output.Stream(b[0]) >= output.Crashes || b[1] > pieceContinues|pieceOwn {
		return p, agentwire.ErrFrame
	}
	p = output.Piece{Stream: output.Stream(b[0]), Rank: f.Of.ID.Rank, Continues: b[1]&pieceContinues != 0, Text: b[pieceHeader:]}
	if b[1]&pieceOwn != 0 {
		p.Rank = -1
	}
	p.From = output.Written{Stream: p.Stream, Lines: int(binary.BigEndian.Uint64(b[2:])), Cut: int(binary.BigEndian.Uint64(b[10:]))}
	return p, nil
}
