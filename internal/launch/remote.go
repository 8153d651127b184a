package launch

import (
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/agent/agentd"
	"github.com/intrahpc/intra/internal/agent/agentwire"
	"github.com/intrahpc/intra/internal/agent/output"
	"github.com/intrahpc/intra/internal/agent/spawn"
	"github.com/intrahpc/intra/internal/agent/supervise"
	"github.com/intrahpc/intra/internal/job"
)

// remote is the head's end of the connection to the agent of another host.
type remote struct {
	host     *job.Host
	listen   string // address for links over TCP, without a port
	port     int    // port of the agent's socket for beats
	takeover string // the address at which the agent listens if it becomes the head
	observer observer
	silent   func() time.Duration // returns how long the agent has been silent
	conn     *agentwire.Conn
	serving  chan struct{}     // closed by serve
	onEvent  func(spawn.Event) // receives events of agents that this agent starts
	early    func(error)       // called when the connection has ended; nil if serve was called before that

	mu      sync.Mutex
	ended   bool // the connection has ended
	over    bool // the remote is closed or its host lost: frames are no longer sent or handled
	sources map[agentwire.Name]*source
}

// source holds the streams of one process.
type source struct {
	outputs [output.Crashes]*agentwire.Inbox
	crashed bool // the process's pipe for crashes has ended
	stdin   *agentwire.Window
}

// newRemote takes over the connection to an agent that is ready.
func newRemote(h *job.Host, m *agentwire.Conn) *remote {
	return &remote{host: h, conn: m, serving: make(chan struct{}), sources: make(map[agentwire.Name]*source)}
}

// wait starts to read the agent's frames. Before serve, the agent sends only events of the
// agents that it starts.
func (r *remote) wait(onEvent func(spawn.Event), ended func(error)) {
	r.onEvent, r.early = onEvent, ended
	go r.read()
}

// serve starts to handle frames about processes.
func (r *remote) serve(o observer, silent func() time.Duration) {
	r.observer, r.silent = o, silent
	close(r.serving)
	if r.early == nil {
		go r.read()
	}
}

// Start starts a process. If the agent has already started it for an earlier head, it does
// nothing.
func (r *remote) Start(of agentwire.Name, as supervise.Role) {
	r.adopt(of)
	r.conn.SendJSON(agentwire.KindStart, of, as)
}

// adopt prepares for frames about a process.
func (r *remote) adopt(of agentwire.Name) {
	src := &source{stdin: agentwire.NewWindow()}
	for s := range output.Crashes {
		src.outputs[s] = agentwire.NewInbox(func(b []byte) {
			r.observer.Output(of, s, b)
			r.conn.SendJSON(agentwire.KindRoom, of, agentwire.Room{Stream: uint8(s), Bytes: uint32(len(b))})
		})
	}
	r.mu.Lock()
	r.sources[of] = src
	r.mu.Unlock()
}

func (r *remote) Send(of agentwire.Name, m *job.Message) {
	b, err := m.Encode()
	if err != nil {
		go r.observer.Unreachable(of, supervise.Silence{Why: supervise.SilenceUndelivered, Text: err.Error()}) // in a goroutine, since the caller may be the goroutine that handles it
		return
	}
	r.conn.Send(agentwire.KindMessage, of, b)
}

func (r *remote) Quiet(of agentwire.Name, n uint64) {
	r.conn.SendJSON(agentwire.KindQuiet, of, n)
}

func (r *remote) Link(l supervise.HostLink) { r.conn.SendJSON(agentwire.KindLink, agentwire.Name{}, l) }

func (r *remote) Signal(of agentwire.Name, s syscall.Signal) {
	r.conn.SendJSON(agentwire.KindSignal, of, s)
}

func (r *remote) Feed(of agentwire.Name, b []byte) {
	r.mu.Lock()
	w := r.sources[of].stdin
	r.mu.Unlock()
	if w.Take(len(b)) {
		r.conn.Send(agentwire.KindInput, of, b)
	}
}

func (r *remote) Resume(of agentwire.Name, at agentd.OutputResume) {
	r.conn.SendJSON(agentwire.KindResume, of, at)
}

// play makes the agent send all output of a process that this head lacks.
func (r *remote) play(of agentwire.Name) { r.conn.Send(agentwire.KindPlay, of, nil) }

func (r *remote) Written(of agentwire.Name, w output.Written) {
	r.conn.SendJSON(agentwire.KindWritten, of, w)
}

// Free ends the agent of a host that is to leave.
func (r *remote) Free(why string) { r.conn.Send(agentwire.KindFree, agentwire.Name{}, []byte(why)) }

// Doubtful reports whether the host may be lost. As long as it may be, the head acts neither on
// reports of the host's processes nor on reports of other processes about them.
func (r *remote) Doubtful() bool {
	r.mu.Lock()
	doubtful := r.over || r.ended
	r.mu.Unlock()
	return doubtful || r.silent() > agentd.DoubtTime
}

// leave closes the connection, so that the agent follows another head.
func (r *remote) leave() {
	if r.finish() {
		r.conn.SetDeadline(time.Now().Add(byeTime))
		r.conn.Finish()
		r.conn.Close()
	}
}

// end sends the agent the end of the job, with the exit code.
func (r *remote) end(code int) {
	if !r.finish() {
		return
	}
	r.conn.SendJSON(agentwire.KindBye, agentwire.Name{}, code)
	r.conn.SetDeadline(time.Now().Add(byeTime))
	r.conn.Finish()
	r.conn.Close()
}

// finish marks the remote as over. It reports whether this call did so.
func (r *remote) finish() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return false
	}
	r.over = true
	return true
}

// byeTime bounds the attempt to send the end of the job to an agent.
const byeTime = time.Second

// declareLost closes the connection for good, and ends all streams.
func (r *remote) declareLost() {
	if !r.finish() {
		return
	}
	r.conn.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	for of, src := range r.sources {
		src.stdin.Close()
		for _, box := range src.outputs {
			box.Put(nil)
		}
		r.crash(of, src, nil)
	}
}

// crash passes on the text of a crash, which never blocks. The caller holds mu.
func (r *remote) crash(of agentwire.Name, src *source, b []byte) {
	if !src.crashed {
		src.crashed = len(b) == 0
		r.observer.Output(of, output.Crashes, b)
	}
}

// read handles the agent's frames until the connection ends.
func (r *remote) read() {
	for {
		f, err := r.conn.Read()
		if err == nil {
			err = r.take(&f)
		}
		if err != nil {
			if errors.Is(err, agentwire.ErrFrame) {
				r.conn.Close() // the agent ends when its connection is closed
			}
			r.mu.Lock()
			closed := r.over // this side closed the connection, so its end explains nothing
			r.ended = true
			r.mu.Unlock()
			if r.early != nil {
				r.early(err)
			}
			<-r.serving
			if !closed {
				r.observer.Disconnected(err)
			}
			return
		}
	}
}

func (r *remote) take(f *agentwire.Frame) error {
	p := f.Of
	if f.Kind == agentwire.KindSpawn && r.onEvent != nil {
		var n spawn.Event
		if err := f.Decode(&n); err != nil {
			return err
		}
		r.onEvent(n)
		return nil
	}
	<-r.serving
	if f.Kind == agentwire.KindFailed {
		r.observer.Failed(fmt.Errorf("host %s: %s", r.host.Name, f.Body))
		return nil
	}
	if f.Kind == agentwire.KindLeave {
		r.observer.Leave()
		return nil
	}
	r.mu.Lock()
	src := r.sources[p]
	r.mu.Unlock()
	if src == nil {
		return fmt.Errorf("%w: it is about %v, which this agent does not have", agentwire.ErrFrame, p.ID)
	}
	switch f.Kind {
	case agentwire.KindStarted:
		var s agentd.StartResult
		if err := f.Decode(&s); err != nil {
			return err
		}
		if s.Error != "" {
			s.Error = fmt.Sprintf("host %s: %s", r.host.Name, s.Error)
		}
		r.observer.Started(p, s.PID, s.Error)
	case agentwire.KindHello:
		h := new(job.Hello)
		if err := f.Decode(h); err != nil {
			return err
		}
		h.Host = r.host.Name
		r.observer.Hello(p, h)
	case agentwire.KindMessage:
		m, err := job.DecodeMessage(f.Body)
		if err != nil {
			return fmt.Errorf("%w: %w", agentwire.ErrFrame, err)
		}
		r.observer.Message(p, m)
	case agentwire.KindUnreachable:
		var s supervise.Silence
		if err := f.Decode(&s); err != nil {
			return err
		}
		r.observer.Unreachable(p, s)
	case agentwire.KindOutput:
		if len(f.Body) == 0 || output.Stream(f.Body[0]) >= output.Streams {
			return agentwire.ErrFrame
		}
		if s := output.Stream(f.Body[0]); s < output.Crashes {
			src.outputs[s].Put(f.Body[1:])
			break
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.crash(p, src, f.Body[1:])
	case agentwire.KindQuiet:
		var n uint64
		if err := f.Decode(&n); err != nil {
			return err
		}
		// Output that is still queued here must come before the report.
		src.outputs[output.Stdout].Then(func() {
			src.outputs[output.Stderr].Then(func() { r.observer.Quiet(p, n) })
		})
	case agentwire.KindRoom:
		var room agentwire.Room
		if err := f.Decode(&room); err != nil {
			return err
		}
		src.stdin.Give(int(room.Bytes))
	case agentwire.KindStopped:
		var d time.Duration
		if err := f.Decode(&d); err != nil {
			return err
		}
		r.observer.Stopped(p, d)
	case agentwire.KindGone:
		r.observer.ProgramGone(p)
	case agentwire.KindExited:
		var e supervise.Exit
		if err := f.Decode(&e); err != nil {
			return err
		}
		src.stdin.Close()
		r.observer.Exited(p, e)
	default:
		return agentwire.ErrFrame
	}
	return nil
}
