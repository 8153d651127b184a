package sdr

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/intrahpc/intra/transport"
)

// Waiter lets an engine wait; *transport.Poller is one.
type Waiter interface {
	// Wait drives the links until done reports true, or until ctx is done; then it returns
	// the error of ctx.
	Wait(ctx context.Context, done func() bool) error
	// Wake makes sleeping waiters call done again.
	Wake()
}

// patient is a Waiter whose waits can return after a while. With any other Waiter the
// engine does not notice that it waits for a rank that has finished.
type patient interface {
	// WaitFor is like Wait, but also returns nil when it has slept for the duration
	// patience.
	WaitFor(ctx context.Context, patience time.Duration, done func() bool) error
}

// patience is how long a call waits before it asks the awaited processes whether they have
// finished.
const patience = time.Second

// Config describes the process that an engine works for.
type Config struct {
	Rank, Replica int
	Incarnation   uint32
	Degrees       []int // replicas of each rank at the start, 1 to MaxReplicas
	// Peers returns which processes are live when the engine is made, and their
	// incarnations. nil: all are live, with the incarnation of this process.
	Peers func(rank, replica int) (incarnation uint32, alive bool)
	// Link returns the started link to another process. The engine calls it before the
	// first frame to an incarnation. If Link returns nil, because the process never joined,
	// the engine drops the frames.
	Link func(rank, replica int) transport.Link
	// Poller drives those links. nil is enough for a rank alone.
	Poller Waiter
	// Context is cancelled with a cause when the job ends. Blocked calls then return an
	// error that wraps ErrJobEnded and the cause. If Context is nil, the job never ends.
	Context context.Context
	// Mirror selects the protocol in which every replica sends to every
	// replica, instead of the parallel one.
	Mirror bool
	// Mid, if set, is called once for each first transmission of the payload of a message
	// to a process of another rank. Its result becomes transport.Frame.Mid.
	Mid func() func() bool
	// Sum, if set, is the hash by which the messages of the replicas of a rank are
	// compared. Differ is called for every difference, without a lock. Sum cannot be
	// combined with Mirror.
	Sum func(payload []byte) uint64
	// SumAsserted is the hash of messages in programs that call SendDeterministic. It is nil
	// if Sum is set.
	SumAsserted func(payload []byte) uint64
	Differ      func(*Difference)
	// Deviates, if set, is called without a lock when a repeated run of the program deviates from
	// the earlier run.
	Deviates func(*Deviation)
	// Point returns the last safe point of the program, for Difference. nil: the safe point
	// is 0.
	Point func() uint64
	// Flip, if set, is called before each first transmission of a payload to a process of
	// another rank, unless the payload is empty. The engine sends the result of Flip instead.
	Flip func(payload []byte) []byte
	// Observer, if set, is notified when messages are sent and received.
	Observer Observer
	// Reference, if set, is compared with the causal history of messages. Either all
	// processes have one, or none has.
	Reference Reference
	// Recorder, if set, records or replays the decisions of this process.
	Recorder Recorder
	Limits   Limits
	// Ordered makes the replicas of a rank agree on everything that depends on the order of
	// messages, unless the program asserts that it is send-deterministic.
	Ordered bool
	// Always makes the replicas agree even if the program asserts that it is send-deterministic:
	// only then can it run again from a Place. All processes have the same value.
	Always bool
	// Before, if set, is called before each operation that the program begins.
	Before Before
}

// Before refuses operations in functions of the program that not all replicas run, such as
// that of Once.
type Before interface {
	// Inside reports whether such a function may be running.
	Inside() bool
	// Refuse returns an error if the caller is in such a function.
	Refuse() error
	// Touches reports whether some memory of the program may not be current in this process:
	// only another replica has its latest contents. Then Inside is true as well.
	Touches() bool
	// Touch makes memory current before an operation is posted on it.
	Touch(mem ...[]byte) error
}

// Engine runs the protocol over the links of one process. Its methods may be
// called by any goroutine.
type Engine struct {
	cfg     Config
	core    *Core
	patient patient // Config.Poller; nil if its waits cannot end after a while

	mu       sync.Mutex // guards the following fields, and core
	links    []transport.Link
	prompt   []transport.Prompt // links that implement transport.Prompt, per process; nil for others
	flushing bool               // a goroutine is carrying out actions
	err      error              // the protocol was violated, or Abort or Retire was called
	aborted  bool
	retired  bool    // Retire was called: the core serves links, and this program no more
	late     error   // first failure after Retire
	deviates bool    // Config.Deviates was called, or is about to be
	heir     *Engine // engine of the next run of the program, which has the core; nil: this engine has it
	lent     []bool  // per process: its link may be writing into memory of the program
	handed   int     // frames with messages that links hold
	saved    []byte  // data of the Attachment, from the position at which the engine began
	attached Attachment
	next     atomic.Pointer[Script] // script with a round that can be posted, or nil
	due      []*Script              // further scripts with such a round
	ready    atomic.Int32           // len(due)
	broken   atomic.Bool            // err is set
	ends     atomic.Uint64          // outbox.ends
	restored atomic.Bool            // the engine began at a position, and Resume was not called yet
	agrees   atomic.Bool            // matching.agreed is set
	unused   *unused

	stalls    []*Stall // calls that have waited for a while
	completed uint64   // number of completed requests
}

// NewEngine returns the engine of a process.
func NewEngine(cfg Config) *Engine {
	if cfg.Context == nil {
		cfg.Context = context.Background()
	}
	if cfg.Poller == nil {
		cfg.Poller = newBell()
	}
	e := &Engine{cfg: cfg, core: NewCore(cfg.Rank, cfg.Replica, cfg.Incarnation, cfg.Degrees, cfg.Mirror, cfg.Limits)}
	e.core.comparer.point, e.core.matching.observer, e.core.out.now, e.core.history.reference = cfg.Point, cfg.Observer, e.handOver, cfg.Reference
	if e.core.comparer.sum = cfg.SumAsserted; cfg.Sum != nil {
		e.core.comparer.sum = cfg.Sum
		e.core.comparer.begin("")
	}
	if cfg.Ordered {
		e.core.agree(cfg.Recorder)
		e.agrees.Store(e.core.matching.agreed != nil)
	}
	e.patient, _ = cfg.Poller.(patient)
	e.links = make([]transport.Link, len(e.core.job.processes))
	e.prompt = make([]transport.Prompt, len(e.core.job.processes))
	e.lent = make([]bool, len(e.core.job.processes))
	for p := range e.core.job.processes {
		if pr := &e.core.job.processes[p]; cfg.Peers != nil && !(pr.rank == cfg.Rank && pr.replica == cfg.Replica) {
			incarnation, alive := cfg.Peers(pr.rank, pr.replica)
			e.core.job.setPeer(p, incarnation, alive)
		}
	}
	e.unused = newUnused()
	return e
}

// unused holds frames for reuse. It is a separate object whose contents do not refer to the
// engine: a pool, and its contents, stay reachable for two more garbage collections than
// the object that contains the pool.
type unused struct{ frames sync.Pool }

func newUnused() *unused {
	u := new(unused)
	u.frames.New = func() any { return new(outFrame) }
	return u
}

// Rank returns the rank that the engine works for.
func (e *Engine) Rank() int { return e.cfg.Rank }

// Size returns the number of ranks of the job.
func (e *Engine) Size() int { return len(e.cfg.Degrees) }

// outFrame is a frame on its way. It reports to the core when the link no longer uses its
// payload.
type outFrame struct {
	frame   transport.Frame
	pieces  [2][]byte
	engine  *Engine
	message *Message
	to      int
	sums    bool // the frame carries hashes of received messages
}

// Sent implements transport.Owner.
func (f *outFrame) Sent(_ *transport.Frame, err error) {
	e := f.engine
	if m := f.message; m != nil {
		e.mu.Lock() // there is no heir: Again waits for such frames
		e.handed--
		e.core.outgoing.Sent(m, f.to, err)
		over := e.over()
		e.flushAndUnlock()
		if over {
			e.cfg.Poller.Wake()
		}
	}
	if f.sums {
		e.mu.Lock()
		e.core.acks.sumFrames--
		e.mu.Unlock()
		e.cfg.Poller.Wake()
	}
	f.engine, f.message, f.pieces, f.frame.Mid, f.frame.Payload = nil, nil, [2][]byte{}, nil, nil
	e.unused.frames.Put(f)
}

// flushAndUnlock marks requests as complete, carries out the actions of the core and
// releases the lock.
func (e *Engine) flushAndUnlock() { e.flush(e.settle()) }

// flush carries out the actions of the core and releases the lock. wake means that
// goroutines may wait for an earlier result of settle. Only one goroutine at a time carries
// out actions, without holding the lock. So the frames of a link keep their order, and a
// link may make callbacks.
func (e *Engine) flush(wake bool) {
	for len(e.core.out.actions) > 0 && !e.flushing {
		acts := e.core.out.Actions()
		if e.aborted {
			clear(acts)
			continue
		}
		for i := range acts {
			if acts[i].Message != nil {
				e.handed++
			}
		}
		e.flushing = true
		e.mu.Unlock()
		if wake {
			e.cfg.Poller.Wake()
		}
		for i := range acts {
			switch a := &acts[i]; a.Kind {
			case ActSend:
				e.transmit(a)
			case ActRenew:
				e.links[a.To], e.prompt[a.To] = nil, nil
			}
		}
		clear(acts)
		e.mu.Lock()
		e.flushing = false
		wake = e.settle() || e.over() // Released waits for the end of flushing
	}
	if c := e.core; c.out.wake || c.job.draining && c.outgoing.Drained() || c.requests.pulling && c.cuts.now.fresh {
		wake, c.out.wake = true, false
	}
	if e.core.out.ends != e.ends.Load() {
		e.ends.Store(e.core.out.ends)
		wake = true
	}
	deviation := e.core.deviation
	if deviation != nil && !e.deviates {
		e.deviates = true
	} else {
		deviation = nil
	}
	differences := e.core.comparer.differences
	if differences != nil {
		e.core.comparer.differences = nil
	}
	e.mu.Unlock()
	for _, d := range differences {
		e.cfg.Differ(d)
	}
	if deviation != nil && e.cfg.Deviates != nil {
		e.cfg.Deviates(deviation)
	}
	if wake {
		e.cfg.Poller.Wake()
	}
}

// settle marks the completed requests as complete, and reports whether there were any. The
// lock is held.
func (e *Engine) settle() bool {
	done := e.core.Completed()
	if d := e.core.deviation; d != nil && e.err == nil {
		e.fail(d)
		return true
	}
	if len(done) == 0 || e.aborted {
		return false
	}
	e.completed += uint64(len(done))
	for i, r := range done {
		done[i] = nil
		e.complete(r)
	}
	return true
}

// complete marks a request as complete. The lock is held.
func (e *Engine) complete(r *Request) {
	if r.script == nil {
		r.done.Store(true)
		return
	}
	e.stepDone(r)
}

// prepare applies Flip and Mid to the first transmission of a payload.
func (e *Engine) prepare(a *Action) {
	a.First = false
	if e.cfg.Flip != nil && len(a.Payload) > 0 {
		a.Payload = e.cfg.Flip(a.Payload)
	}
	if e.cfg.Mid != nil {
		a.Mid = e.cfg.Mid()
	}
}

// handOver hands a frame to its link if the link accepts it at once. It does nothing while
// a goroutine carries out actions, because the frames of these come first. It also does
// nothing if there is an observer: an observer must be notified of a frame once, and before
// the receiver gets it, but the link may still refuse the frame. The lock is held.
func (e *Engine) handOver(a *Action) bool {
	if e.flushing || e.aborted || e.cfg.Observer != nil {
		return false
	}
	to := e.prompt[a.To]
	if to == nil {
		return false
	}
	if a.First {
		e.prepare(a)
	}
	return a.Mid == nil && to.SendNow(&a.Header, a.Payload, a.CausalPast)
}

// transmit hands one frame to its link.
func (e *Engine) transmit(a *Action) {
	if a.First {
		e.prepare(a)
	}
	f := e.unused.frames.Get().(*outFrame)
	f.frame.Header, f.engine, f.message, f.to = a.Header, e, a.Message, a.To
	f.frame.Owner, f.frame.Mid = f, a.Mid
	f.frame.Payload = nil
	f.sums = carriesSums(&a.Header)
	pieces := f.pieces[:0]
	if len(a.Payload) > 0 {
		pieces = append(pieces, a.Payload)
	}
	if len(a.CausalPast) > 0 {
		pieces = append(pieces, a.CausalPast)
	}
	if len(pieces) > 0 {
		f.frame.Payload = pieces
	}
	if e.cfg.Observer != nil && a.Message != nil {
		e.observeSent(a)
	}
	link := e.links[a.To]
	if link == nil {
		p := &e.core.job.processes[a.To] // rank and replica never change, so no lock is needed
		if link = e.cfg.Link(p.rank, p.replica); link == nil {
			f.Sent(&f.frame, transport.ErrPeerGone)
			return
		}
		e.links[a.To] = link
		e.prompt[a.To], _ = link.(transport.Prompt)
	}
	link.Send(&f.frame)
}

// fail makes every call return an error from now on. The lock is held.
func (e *Engine) fail(err error) {
	if e.retired && e.late == nil {
		e.late = err
	}
	if e.err == nil {
		e.err = err
		e.broken.Store(true)
	}
}

// Dead reports to the engine that a process has been declared dead. The caller must report
// deaths in the order in which they were declared. It must report each one after the link
// has delivered its last byte.
func (e *Engine) Dead(rank, replica int) {
	e = e.lock()
	if p := e.core.job.index(rank, replica); p >= 0 {
		e.core.Dead(p)
	}
	e.flushAndUnlock()
	e.cfg.Poller.Wake()
}

// Through reports to the engine that a rank has finished and that all processes have
// received its messages. If the rank then loses its last replica, the engine does not wait
// for it.
func (e *Engine) Through(rank int) {
	e = e.lock()
	e.core.finishing.Through(rank)
	e.flushAndUnlock()
}

// HandedOver reports whether every live destination has all messages that are kept for it.
// It must be called after the program has returned: from the first call on the engine
// requests acknowledgements without delay. When the result changes to true, the engine
// wakes the waiters of the Poller.
func (e *Engine) HandedOver() bool {
	e.Advance()
	e.mu.Lock()
	defer e.flushAndUnlock()
	if !e.core.job.draining && !e.retired {
		e.core.Drain()
	}
	return !e.retired && e.core.outgoing.Drained()
}

// Received reports whether every live destination has received all messages of this
// process, so that the loss of its host does no harm. Like HandedOver, it must be called
// after the program has returned. The peers must not leave before the result is true.
func (e *Engine) Received() bool {
	if !e.HandedOver() {
		return false
	}
	e.mu.Lock()
	defer e.flushAndUnlock()
	return e.core.outgoing.Received()
}

// Drained returns when everything is handed over and the process may leave. Until it
// leaves, the process must continue to serve its links.
func (e *Engine) Drained(ctx context.Context) error {
	err := e.waitUntil(ctx, func() bool { return e.HandedOver() || e.broken.Load() })
	if err != nil {
		return fmt.Errorf("hand over the last messages: %w", err)
	}
	return e.Failure()
}

// Retained returns how many messages are kept for destinations that may lack
// them, and the bytes of their copies.
func (e *Engine) Retained() (messages, bytes int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.core.outgoing.Retained()
}

// Ready reports whether the program may begin operations. It may not if the engine has
// failed, if a restored program has yet to reach its first safe point, or while a function
// runs in which operations are refused.
func (e *Engine) Ready() bool {
	return !e.broken.Load() && !e.restored.Load() && (e.cfg.Before == nil || !e.cfg.Before.Inside())
}

// Before returns Config.Before, which must be asked before each operation that the program begins,
// unless Ready returned true. If it is nil, there is nothing to ask.
func (e *Engine) Before() Before { return e.cfg.Before }

// Failure returns the error of all calls if the engine cannot continue, or nil.
func (e *Engine) Failure() error {
	if !e.broken.Load() {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}
