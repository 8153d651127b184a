package launch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/agent/agentd"
	"github.com/intrahpc/intra/internal/agent/agentwire"
	"github.com/intrahpc/intra/internal/agent/jobsocket"
	"github.com/intrahpc/intra/internal/agent/output"
)

// relay is the intrarun that the user started, once its head has handed over. It stays a node of
// the arbiter, which reports the present head to it, and which declares it lost like any other
// node. It writes the output of the job for that head, passes on signals and questions, and ends
// with the exit code of the job. Each head after the first one waits for the relay as for an agent,
// unless the relay is lost: only the relay knows what it has written.
//
// If the relay ends before the job, the present head and its successors write the output
// themselves. If there is time, the relay notifies the head first: then no line is lost or
// repeated. Otherwise no confirmed piece is lost or repeated.
type relay struct {
	console *output.Console
	heads   *agentd.Pursuit
	over    chan struct{} // closed when the relay ends

	writing sync.Mutex // held while a piece is written and confirmed
	written [][2]output.Written
	left    bool // it has stopped writing

	mu      sync.Mutex
	conn    *agentwire.Conn // nil while there is no head
	signal  syscall.Signal  // ends the job; 0: none
	asked   uint32          // number of questions
	answers map[uint32]chan string
}

// follow serves one head after another, and returns the exit code of the job. If the relay loses
// the last head, it returns an error.
func (r *relay) follow() (code int, err error) {
	err = errors.New("no head has followed")
	for term := uint64(0); ; {
		var c net.Conn
		if c, term, err = r.heads.Next(term, err); err != nil {
			return 0, err
		}
		if code, err = r.serve(c, term); err == nil {
			return code, nil
		}
	}
}

// serve carries out what the head of a term requests. It returns the exit code of the job, or why
// the connection has ended.
func (r *relay) serve(c net.Conn, term uint64) (code int, err error) {
	m := agentwire.NewConn(c)
	defer m.Close()
	r.writing.Lock()
	m.SendJSON(agentwire.KindResync, agentwire.Name{}, agentd.Resync{Term: term, Written: r.written})
	r.writing.Unlock()
	r.attach(m)
	defer r.attach(nil)
	m.ReadAhead() // a write may wait for the reader of the output
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-r.heads.Succeeded(term):
			m.Close()
		case <-done:
		}
	}()
	for {
		f, err := m.Read()
		if err != nil {
			return 0, fmt.Errorf("lost the connection to the head: %w", err)
		}
		switch f.Kind {
		case agentwire.KindCarry:
			err = r.write(m, &f)
		case agentwire.KindAnswer:
			r.answered(f.Of.Incarnation, string(f.Body))
		case agentwire.KindBye:
			if err := f.Decode(&code); err != nil {
				return 0, err
			}
			m.Send(agentwire.KindBye, agentwire.Name{}, nil)
			m.SetDeadline(time.Now().Add(byeTime))
			m.Finish()
			return code, nil
		default:
			err = agentwire.ErrFrame
		}
		if err != nil {
			return 0, err
		}
	}
}

// attach makes m the connection to the present head, and repeats the signal that ends the job.
func (r *relay) attach(m *agentwire.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conn = m; m != nil && r.signal != 0 {
		m.SendJSON(agentwire.KindSignal, agentwire.Name{}, r.signal)
	}
	for i, to := range r.answers { // a question that the previous head may not have answered
		close(to)
		delete(r.answers, i)
	}
}

// write writes a piece and confirms it.
func (r *relay) write(m *agentwire.Conn, f *agentwire.Frame) error {
	p, err := decodePiece(f)
	if err != nil {
		return err
	}
	r.writing.Lock()
	defer r.writing.Unlock()
	switch {
	case r.left: // the head writes it once it knows that the relay has left
		return nil
	case p.Rank >= len(r.written):
		return agentwire.ErrFrame
	}
	r.console.Emit(p)
	if p.Rank >= 0 {
		r.written[p.Rank][p.Stream] = p.End()
	}
	m.Send(agentwire.KindCarried, agentwire.Name{}, nil)
	return nil
}

// interrupt makes the present head, or the next one, end the job.
func (r *relay) interrupt(s syscall.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.signal = s
	if r.conn != nil {
		r.conn.SendJSON(agentwire.KindSignal, agentwire.Name{}, s)
	}
}

// ask passes a question about the job to the present head, and returns its answer, "" if there is
// none.
func (r *relay) ask(question string) string {
	answer := make(chan string, 1)
	r.mu.Lock()
	if r.conn == nil {
		r.mu.Unlock()
		return ""
	}
	r.asked++
	r.answers[r.asked] = answer
	r.conn.Send(agentwire.KindAsk, agentwire.Name{Incarnation: r.asked}, []byte(question))
	r.mu.Unlock()
	select {
	case text := <-answer:
		return text
	case <-time.After(jobsocket.AskTime):
	case <-r.over:
	}
	return ""
}

func (r *relay) answered(number uint32, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if to := r.answers[number]; to != nil {
		to <- text
		delete(r.answers, number)
	}
}

// leave ends the relay before the job ends. It waits for a piece that is being written, but only
// briefly: the reader of the output may block.
func (r *relay) leave() {
	for end := time.Now().Add(byeTime); !r.writing.TryLock(); time.Sleep(leaveEvery) {
		if time.Now().After(end) {
			return
		}
	}
	r.left = true
	r.writing.Unlock()
	r.mu.Lock()
	m := r.conn
	r.mu.Unlock()
	if m != nil {
		m.Send(agentwire.KindLeave, agentwire.Name{}, nil)
		m.SetDeadline(time.Now().Add(byeTime))
		m.Finish()
	}
}

// leaveEvery is the pause between two attempts to leave.
const leaveEvery = 5 * time.Millisecond

// relay stays until the job is over, after the head of this process has handed over. It returns
// the exit code of the job, or ExitHandedOver if this process has to end before the job.
func (w *hosts) relay(ctx context.Context, c *Config) (code int) {
	r := &relay{console: w.console, heads: w.heads, over: w.over, signal: w.head.Interrupted(), answers: make(map[uint32]chan string)}
	w.relaying.Store(r)
	at, noticed := w.head.Notice()
	grace := w.grace(c, at, noticed)
	defer close(w.over)
	if w.page != nil { // the next head serves it
		w.page.Close()
	}
	if s, err := jobsocket.Serve(r.ask); err == nil { // otherwise intrarun status and the like find no job on this host
		defer s.Close()
	}
	type end struct {
		code int
		err  error
	}
	ended := make(chan end, 1)
	go func() {
		w.dismiss(w.conclude()) // this may wait for the reader of the output, so signals are handled meanwhile
		r.written = w.written
		w.warnf("this intrarun stays for the output, the signals and the exit code of the job")
		code, err := r.follow()
		ended <- end{code, err}
	}()
	done := ctx.Done()
	for {
		var s os.Signal
		select {
		case e := <-ended:
			if e.err == nil {
				return e.code
			}
			return w.leaveRelay(r, e.err.Error())
		case <-grace:
			return w.leaveRelay(r, fmt.Sprintf("the time of -grace %v is over", c.Grace))
		case why := <-w.fenced:
			return w.leaveRelay(r, why)
		case <-c.Asks:
			go func() { w.console.Notef("intrarun: %s", strings.TrimRight(r.ask(askStatus), "\n")) }()
			continue
		case s = <-c.Signals:
		case s = <-w.late:
		case <-done:
			done, s = nil, terminate
		}
		switch {
		case c.Drain && !noticed && s == terminate && r.signal == 0:
			noticed = true
			grace = w.grace(c, w.now(), true)
			w.warnf("SIGTERM: this host is to leave, and another one is the head already; a second signal ends the job")
		case r.signal == 0:
			w.warnf("%v: the job ends", s)
			r.interrupt(s.(syscall.Signal))
		default:
			r.interrupt(s.(syscall.Signal))
			return w.leaveRelay(r, "a further signal")
		}
	}
}

// grace returns a channel that receives when the time for this host to leave is over; nil: that
// time is unbounded. at is when the notice arrived.
func (w *hosts) grace(c *Config, at time.Duration, noticed bool) <-chan time.Time {
	if !noticed || c.Grace == 0 {
		return nil
	}
	return time.After(at + c.Grace - w.now())
}

// leaveRelay ends the relay before the job, for a reason.
func (w *hosts) leaveRelay(r *relay, why string) int {
	r.leave()
	more := ""
	if w.info.Output != "" {
		more = fmt.Sprintf(", and its output continues on the host of its head, in %s.out and .err", w.info.Output)
	}
	w.warnf("this intrarun ends before the job (%s): exit code %d; the job goes on%s", why, ExitHandedOver, more)
	return ExitHandedOver
}
