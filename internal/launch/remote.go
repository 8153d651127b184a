package launch

import (
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/output"
)

// remote is the agent of another host as the head sees it: its end of the
// connection to it.
type remote struct {
	host     *job.Host
	listen   string // address for links over TCP, without a port
	port     int    // of its socket for beats
	door     string // where it listens in case it becomes the head
	observer observer
	lost     func(why string, e *evidence) // called once if the host is lost
	silent   func() time.Duration          // how long nothing has been heard of it
	mux      *mux
	serving  chan struct{} // closed by serve
	news     func(news)    // is told of agents that it starts
	early    func(error)   // is told that the connection has ended; nil: serve comes first

	mu      sync.Mutex
	ended   string // why the connection has ended, "" if it has not
	over    bool   // closed or lost: nothing is said or heard any more
	sources map[job.Process]*source
}

// source is what comes from, and goes to, one process byte by byte.
type source struct {
	outputs [output.Crashes]*inbox
	crashed bool // its pipe for crashes has ended
	stdin   *window
}

// startResult says how the start of a process went.
type startResult struct {
	PID   int    `json:"pid"`
	Error string `json:"error,omitempty"`
}

// newRemote takes over the connection to an agent that is ready.
func newRemote(h *job.Host, m *mux) *remote {
	return &remote{host: h, mux: m, serving: make(chan struct{}), sources: make(map[job.Process]*source)}
}

// wait begins to listen to the agent, which has nothing to say until serve but
// what becomes of the agents that it starts.
func (r *remote) wait(hear func(news), ended func(error)) {
	r.news, r.early = hear, ended
	go r.read()
}

// serve begins to listen to the agent about processes.
func (r *remote) serve(o observer, silent func() time.Duration, lost func(why string, e *evidence)) {
	r.observer, r.silent, r.lost = o, silent, lost
	close(r.serving)
	if r.early == nil {
		go r.read()
	}
}

func (r *remote) start(p job.Process, as role) {
	r.adopt(p)
	r.mux.send(frameStart, p, number(uint64(as)))
}

// adopt expects to hear of a process.
func (r *remote) adopt(p job.Process) {
	src := &source{stdin: newWindow()}
	for s := range output.Crashes {
		src.outputs[s] = newInbox(func(b []byte) {
			r.observer.output(p, s, b)
			r.mux.send(frameRoom, p, room(s, len(b)))
		})
	}
	r.mu.Lock()
	r.sources[p] = src
	r.mu.Unlock()
}

func (r *remote) send(p job.Process, m *job.Message) {
	b, err := m.Encode()
	if err != nil {
		go r.observer.unheard(p, silence{silenceUntold, err.Error()}) // the caller is who hears it
		return
	}
	r.mux.send(frameMessage, p, b)
}

func (r *remote) quiet(p job.Process, n uint64) { r.mux.send(frameQuiet, p, number(n)) }

func (r *remote) link(l hostLink) { r.mux.sendJSON(frameLink, l.Lower, l) }

func (r *remote) signal(p job.Process, s syscall.Signal) {
	r.mux.send(frameSignal, p, number(uint64(s)))
}

func (r *remote) feed(p job.Process, b []byte) {
	r.mu.Lock()
	w := r.sources[p].stdin
	r.mu.Unlock()
	if w.take(len(b)) {
		r.mux.send(frameInput, p, b)
	}
}

// doubtful: the host may be lost, so it is too early to judge by what its
// processes, or others of them, say.
func (r *remote) doubtful() bool {
	r.mu.Lock()
	doubtful := r.over || r.ended != ""
	r.mu.Unlock()
	return doubtful || r.silent() > doubtTime
}

// ending is why the connection has ended, "" if it has not.
func (r *remote) ending() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}

// written tells the agent what of the output of a process is out: so many lines
// of its rank, and of the next one so many bytes.
func (r *remote) written(p job.Process, w output.Written) { r.mux.sendJSON(frameWritten, p, w) }

// leave leaves the agent to another head.
func (r *remote) leave() {
	if r.finish() {
		r.mux.close()
	}
}

// end tells the agent that the job is over, with that exit code.
func (r *remote) end(code int) {
	if !r.finish() {
		return
	}
	r.mux.send(frameBye, job.Process{}, number(uint64(code)))
	r.mux.conn.SetDeadline(time.Now().Add(byeTime))
	r.mux.finish()
	r.mux.close()
}

// finish reports whether it is the first to end the conversation.
func (r *remote) finish() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return false
	}
	r.over = true
	return true
}

// byeTime bounds how long an agent is told that the job is over.
const byeTime = time.Second

// declare ends the conversation for good, and with it all output.
func (r *remote) declare(why string, e *evidence) {
	if !r.finish() {
		return
	}
	r.mux.close()
	r.mu.Lock()
	for p, src := range r.sources {
		src.stdin.close()
		for _, box := range src.outputs {
			box.put(nil)
		}
		r.crash(p, src, nil)
	}
	r.mu.Unlock()
	r.lost(why, e)
}

// crash takes in the text of a crash, which never blocks. It is called with mu
// held.
func (r *remote) crash(p job.Process, src *source, b []byte) {
	if !src.crashed {
		src.crashed = len(b) == 0
		r.observer.output(p, output.Crashes, b)
	}
}

// read takes what the agent says until the connection ends.
func (r *remote) read() {
	for {
		f, err := r.mux.read()
		if err == nil {
			err = r.take(&f)
		}
		if err != nil {
			if errors.Is(err, errFrame) {
				r.mux.close() // the agent ends with it
			}
			r.mu.Lock()
			r.ended = err.Error()
			r.mu.Unlock()
			if r.early != nil {
				r.early(err)
			}
			return
		}
	}
}

func (r *remote) take(f *frame) error {
	p := f.process
	if f.kind == frameNews && r.news != nil {
		var n news
		if err := f.decode(&n); err != nil {
			return err
		}
		r.news(n)
		return nil
	}
	<-r.serving
	if f.kind == frameFailed {
		r.observer.failed(fmt.Errorf("host %s: %s", r.host.Name, f.body))
		return nil
	}
	r.mu.Lock()
	src := r.sources[p]
	r.mu.Unlock()
	if src == nil {
		return fmt.Errorf("%w: about %v, which is not there", errFrame, p)
	}
	switch f.kind {
	case frameStarted:
		var s startResult
		if err := f.decode(&s); err != nil {
			return err
		}
		var err error
		if s.Error != "" {
			err = fmt.Errorf("host %s: %s", r.host.Name, s.Error)
		}
		r.observer.started(p, s.PID, err)
	case frameHello:
		h := new(job.Hello)
		if err := f.decode(h); err != nil {
			return err
		}
		h.Host = r.host.Name
		r.observer.hello(p, h)
	case frameMessage:
		m, err := job.DecodeMessage(f.body)
		if err != nil {
			return fmt.Errorf("%w: %w", errFrame, err)
		}
		r.observer.message(p, m)
	case frameUnheard:
		var s silence
		if err := f.decode(&s); err != nil {
			return err
		}
		r.observer.unheard(p, s)
	case frameOutput:
		if len(f.body) == 0 || output.Stream(f.body[0]) >= output.Streams {
			return errFrame
		}
		if s := output.Stream(f.body[0]); s < output.Crashes {
			src.outputs[s].put(f.body[1:])
			break
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.crash(p, src, f.body[1:])
	case frameQuiet:
		n, err := f.number()
		if err != nil {
			return err
		}
		// It stands behind the output that is still here.
		src.outputs[output.Stdout].then(func() {
			src.outputs[output.Stderr].then(func() { r.observer.quiet(p, n) })
		})
	case frameRoom:
		_, n, err := f.room()
		if err != nil {
			return err
		}
		src.stdin.give(n)
	case frameStopped:
		n, err := f.number()
		if err != nil {
			return err
		}
		r.observer.stopped(p, time.Duration(n))
	case frameGone:
		r.observer.programGone(p)
	case frameExited:
		var e exit
		if err := f.decode(&e); err != nil {
			return err
		}
		src.stdin.close()
		r.observer.exited(p, e)
	default:
		return errFrame
	}
	return nil
}
