package sdr

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/intrahpc/intra/transport"
)

// Waiter is how an engine waits; *transport.Poller is one.
type Waiter interface {
	// Wait drives the links until done reports true, or ctx is done, and
	// returns its error.
	Wait(ctx context.Context, done func() bool) error
	// Wake makes sleeping waiters look again.
	Wake()
}

// patient is a Waiter that can tell when something takes long. Without it a
// wait for a rank that has finished is not noticed.
type patient interface {
	// WaitFor is Wait that returns nil, too, when it has slept for so long.
	WaitFor(ctx context.Context, patience time.Duration, done func() bool) error
}

// patience is how long a wait takes before those are asked whom it waits for.
const patience = time.Second

// Config describes the process that an engine works for.
type Config struct {
	Rank, Replica int
	Incarnation   uint32
	Degrees       []int // replicas of each rank at the start, 1 to MaxReplicas
	// Peers tells who lives when the engine is made, and in which life. nil:
	// all processes, with the same incarnation.
	Peers func(rank, replica int) (incarnation uint32, alive bool)
	// Link returns the started link to another process. It is called when
	// something is sent there for the first time in its life; nil drops the frames, for
	// a process that never came.
	Link func(rank, replica int) transport.Link
	// Poller drives those links. nil is enough for a rank alone.
	Poller Waiter
	// Context is cancelled with a cause when the job ends; blocked calls then
	// return an error that wraps ErrJobEnded and the cause. nil never ends.
	Context context.Context
	// Mirror selects the protocol in which every replica sends to every
	// replica, instead of the parallel one.
	Mirror bool
	// Mid, if set, is called once for each first transmission of the payload
	// of a message to a process of another rank; the result goes into
	// transport.Frame.Mid.
	Mid func() func() bool
	// Sum, if set, is a hash: what the replicas of a rank send is compared by it,
	// and Differ is told of what differs, without a lock. The protocol must be the
	// parallel one.
	Sum func(payload []byte) uint64
	// SumAsserted is Sum from SendDeterministic on, for programs that call it.
	SumAsserted func(payload []byte) uint64
	Differ      func(*Difference)
	// Point says at which safe point the program is, for Difference; nil: 0.
	Point func() uint64
	// Flip, if set, comes before each first transmission of a payload that is not
	// empty to a process of another rank, and returns what is sent instead.
	Flip func(payload []byte) []byte
	// Observer, if set, is told what happens with messages.
	Observer Observer
	// Reference, if set, is compared with the causal past of messages. All processes
	// have one, or none.
	Reference Reference
	Limits    Limits
	// Ordered makes the replicas of a rank agree on what depends on the order of messages, unless the
	// program asserts that it is send-deterministic.
	Ordered bool
	// Before, if set, comes before each operation that the program begins.
	Before Before
}

// Before refuses operations in functions of the program that not all replicas run.
type Before interface {
	// Inside reports whether such a function may be running.
	Inside() bool
	// Refuse returns an error if the caller is in one.
	Refuse() error
}

// Engine runs the protocol over the links of one process. Its methods may be
// called by any goroutine.
type Engine struct {
	cfg     Config
	core    *Core
	patient patient // Config.Poller, nil if it cannot tell when something takes long

	mu       sync.Mutex // guards what follows, and core
	links    []transport.Link
	prompt   []transport.Prompt // the links that are one
	flushing bool               // a goroutine carries out actions
	err      error              // the protocol was violated, or Abort was called
	aborted  bool
	lent     []bool // per process: its link writes into memory of the program
	handed   int    // frames with messages that links hold
	saved    []byte // of the layer above, in the position that the engine began at
	attached Attachment
	next     atomic.Pointer[Script] // a script with a round that can be posted
	due      []*Script              // the others
	ready    atomic.Int32           // how many these are
	broken   atomic.Bool            // err is set
	ends     atomic.Uint64          // Core.ends
	restored atomic.Bool            // began at a position, Resume was not called
	agrees   atomic.Bool            // Core.agreed is set
	unused   *unused

	stalls    []*Stall // calls that have waited for a while
	completed uint64   // requests
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
	e.core.point, e.core.observer, e.core.sum, e.core.now, e.core.reference = cfg.Point, cfg.Observer, cfg.Sum, e.handOver, cfg.Reference
	if cfg.Ordered {
		e.core.agree()
		e.agrees.Store(e.core.agreed != nil)
	}
	e.patient, _ = cfg.Poller.(patient)
	e.links = make([]transport.Link, len(e.core.processes))
	e.prompt = make([]transport.Prompt, len(e.core.processes))
	e.lent = make([]bool, len(e.core.processes))
	for p := range e.core.processes {
		if pr := &e.core.processes[p]; cfg.Peers != nil && !(pr.rank == cfg.Rank && pr.replica == cfg.Replica) {
			incarnation, alive := cfg.Peers(pr.rank, pr.replica)
			e.core.Peer(p, incarnation, alive)
		}
	}
	e.unused = newUnused()
	return e
}

// unused holds frames for their next use. It stands alone, and what it holds names
// no engine: a pool, and what is in it, outlives what it is part of by two garbage
// collections.
type unused struct{ frames sync.Pool }

func newUnused() *unused {
	u := new(unused)
	u.frames.New = func() any { return new(outFrame) }
	return u
}

// Rank returns the rank that the engine works for, Size the number of ranks.
func (e *Engine) Rank() int { return e.cfg.Rank }

// Size returns the number of ranks of the job.
func (e *Engine) Size() int { return len(e.core.ranks) }

// outFrame is a frame on its way; it tells the core when its payload is free.
type outFrame struct {
	frame   transport.Frame
	pieces  [2][]byte
	engine  *Engine
	message *Message
	to      int
	tells   bool // hashes of what was received
}

// Sent implements transport.Owner.
func (f *outFrame) Sent(_ *transport.Frame, err error) {
	e := f.engine
	if m := f.message; m != nil {
		e.mu.Lock()
		e.handed--
		e.core.Sent(m, f.to, err)
		aborted := e.aborted
		e.flushAndUnlock()
		if aborted {
			e.cfg.Poller.Wake()
		}
	}
	if f.tells {
		e.mu.Lock()
		e.core.telling--
		e.mu.Unlock()
		e.cfg.Poller.Wake()
	}
	f.engine, f.message, f.pieces, f.frame.Mid, f.frame.Payload = nil, nil, [2][]byte{}, nil, nil
	e.unused.frames.Put(f)
}

// flushAndUnlock says what is complete, carries out the actions that the core wants and
// releases the lock.
func (e *Engine) flushAndUnlock() { e.flush(e.settle()) }

// flush carries out the actions that the core wants and releases the lock; news
// says that somebody may wait for what was settled before. One goroutine at a time
// does so, without the lock, so that the frames of a link keep their order and a link
// may call back.
func (e *Engine) flush(news bool) {
	for len(e.core.actions) > 0 && !e.flushing {
		acts := e.core.Actions()
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
		if news {
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
		news = e.settle() || e.aborted // Released waits for that
	}
	if c := e.core; c.news || c.draining && c.Drained() || c.pulling() && c.cut.fresh {
		news, c.news = true, false
	}
	if e.core.ends != e.ends.Load() {
		e.ends.Store(e.core.ends)
		news = true
	}
	differences := e.core.differences
	if differences != nil {
		e.core.differences = nil
	}
	e.mu.Unlock()
	for _, d := range differences {
		e.cfg.Differ(d)
	}
	if news {
		e.cfg.Poller.Wake()
	}
}

// settle says of requests that they are complete, and reports whether there were
// any. The lock is held.
func (e *Engine) settle() bool {
	done := e.core.Completed()
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

// complete says that a request is complete. The lock is held.
func (e *Engine) complete(r *Request) {
	if r.script == nil {
		r.done.Store(true)
		return
	}
	e.stepDone(r)
}

// prepare does what comes before a first transmission of a payload.
func (e *Engine) prepare(a *Action) {
	a.First = false
	if e.cfg.Flip != nil && len(a.Payload) > 0 {
		a.Payload = e.cfg.Flip(a.Payload)
	}
	if e.cfg.Mid != nil {
		a.Mid = e.cfg.Mid()
	}
}

// handOver hands a frame to its link if that takes it at once, while nobody carries
// out actions, whose frames come before it. The lock is held. An observer hears of a
// frame before its receiver does, and once, so not of one that may be refused.
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
	f.tells = tells(&a.Header)
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
		p := &e.core.processes[a.To] // rank and replica never change
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
	if e.err == nil {
		e.err = err
		e.broken.Store(true)
	}
}

// Dead tells the engine that a process has been declared dead. It is called
// in the order of the verdicts, after the link's last byte was delivered.
func (e *Engine) Dead(rank, replica int) {
	p := e.core.Process(rank, replica)
	if p < 0 {
		return
	}
	e.mu.Lock()
	e.core.Dead(p)
	e.flushAndUnlock()
	e.cfg.Poller.Wake()
}

// Through tells the engine that a rank has finished and nobody lacks what it
// sent, so that nothing is waited for once it has lost its last replica.
func (e *Engine) Through(rank int) {
	e.mu.Lock()
	e.core.Through(rank)
	e.flushAndUnlock()
}

// HandedOver reports whether every live destination has all that is kept for
// it. It is called after the program has returned, and changes what is asked of
// the peers: from now on acknowledgements without delay. A change to true wakes
// who waits with the Poller.
func (e *Engine) HandedOver() bool {
	e.Advance()
	e.mu.Lock()
	defer e.flushAndUnlock()
	if !e.core.draining {
		e.core.Drain()
	}
	return e.core.Drained()
}

// Received reports whether every live destination has received all that this
// process had to send, also if its host is lost now. Otherwise it is as
// HandedOver; the peers have to stay until it is true.
func (e *Engine) Received() bool {
	if !e.HandedOver() {
		return false
	}
	e.mu.Lock()
	defer e.flushAndUnlock()
	return e.core.Received()
}

// Drained returns when the process may leave: when all is handed over. Until
// the process leaves, it goes on serving what its links deliver.
func (e *Engine) Drained(ctx context.Context) error {
	err := e.waitUntil(ctx, func() bool { return e.HandedOver() || e.broken.Load() })
	if err != nil {
		return fmt.Errorf("hand over the last messages: %w", err)
	}
	return e.failure()
}

// Retained returns how many messages are kept for destinations that may lack
// them, and the bytes of their copies.
func (e *Engine) Retained() (messages, bytes int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.core.Retained()
}

func (e *Engine) failure() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// Ready reports that the engine works for the program: it has not failed, what it
// began at is behind it, and no function runs in which operations are refused.
func (e *Engine) Ready() bool {
	return !e.broken.Load() && !e.restored.Load() && (e.cfg.Before == nil || !e.cfg.Before.Inside())
}

// Refuse comes before each operation that the program begins, unless Ready: it returns
// an error where that is not allowed.
func (e *Engine) Refuse() error {
	if e.cfg.Before == nil {
		return nil
	}
	return e.cfg.Before.Refuse()
}

// Failure returns the error that every call returns because the engine cannot
// go on, or nil.
func (e *Engine) Failure() error {
	if !e.broken.Load() {
		return nil
	}
	return e.failure()
}
