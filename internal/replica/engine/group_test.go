package engine

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/arena"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/timeline"
	"github.com/intrahpc/intra/sched"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/inproc"
	"github.com/intrahpc/intra/update"
)

// group is the replicas of one rank, linked in memory, with a head that declares them dead
// and releases them.
type group struct {
	t        *testing.T
	running  sync.WaitGroup
	replicas []*replica
	replied  func(*replica, job.Reply) // nil: replies are dropped
	onReport func(*replica, job.Stats) // called with reports that are sent immediately; nil: they are dropped

	mu       sync.Mutex
	verdicts []job.Verdict
	failures []job.Failure
	over     bool
}

// replica is one replica of the group, and its head.
type replica struct {
	setUp
	g        *group
	engine   *Engine
	arena    *arena.Arena // nil: no stores
	ctx      context.Context
	cancel   context.CancelCauseFunc
	links    map[job.Process]transport.Link
	released chan struct{}
	events   chan job.Event
	err      error // result of its program
	epochs   []uint64
	traced   []timeline.Event

	killed, dead, finished bool // guarded by group.mu
}

// setup changes the configuration of a replica.
type setup func(*job.Setup, *Config)

func threads(n int) setup { return func(s *job.Setup, _ *Config) { s.Threads = n } }

func share(_ *job.Setup, c *Config) { c.Share = true }

func killed(t *testing.T, kills ...string) setup {
	return func(s *job.Setup, _ *Config) {
		for _, text := range kills {
			k, err := job.ParseKill(text)
			require.NoError(t, err)
			if k.Process == s.Self {
				s.Kills = append(s.Kills, k)
			}
		}
	}
}

func newGroup(t *testing.T, n int, with ...setup) *group {
	g := &group{t: t}
	for i := range n {
		r := &replica{g: g, links: make(map[job.Process]transport.Link), released: make(chan struct{}), events: make(chan job.Event, 100)}
		r.ctx, r.cancel = context.WithCancelCause(t.Context())
		r.setup = job.Setup{Self: job.Process{Replica: i}, Incarnation: firstIncarnation, Degrees: []int{n}}
		for j, other := range g.replicas {
			a, b := inproc.Pair()
			r.links[job.Process{Replica: j}], other.links[job.Process{Replica: i}] = a, b
		}
		g.replicas = append(g.replicas, r)
	}
	for _, r := range g.replicas {
		c := Config{Head: r, Links: r.links, Die: r.die}
		for _, w := range with {
			w(&r.setup, &c)
		}
		r.engine = New(r.ctx, c)
	}
	return g
}

// withStores gives the replicas shared memory.
func (g *group) withStores() *group {
	f, err := arena.Create()
	if errors.Is(err, errors.ErrUnsupported) {
		g.t.Skip(err)
	}
	require.NoError(g.t, err)
	defer f.Close()
	for _, r := range g.replicas {
		own, err := job.Duplicate(f)
		require.NoError(g.t, err)
		r.arena, err = arena.Open(own, r.engine.Life())
		require.NoError(g.t, err)
		r.engine.StoreInto(r.arena)
	}
	return g
}

// run runs the program on all replicas, until they have ended.
func (g *group) run(program func(r *replica, p *Program) error) {
	for _, r := range g.replicas {
		require.NoError(g.t, r.engine.Begin())
	}
	for _, r := range g.replicas {
		g.running.Go(func() { r.live(program) })
	}
	done := make(chan struct{})
	go func() { defer close(done); g.running.Wait() }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		for _, r := range g.replicas {
			g.t.Log(r.engine.explain())
		}
		g.t.Fatal("the replicas hang")
	}
}

func (r *replica) live(program func(r *replica, p *Program) error) {
	var follower sync.WaitGroup
	follower.Go(func() { _, _ = r.engine.Follow(r.cancel, r.released) })
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.err = r.engine.Live(func(p *Program) error { return program(r, p) }, r.released)
	}()
	<-ended
	r.g.mu.Lock()
	killed := r.killed
	r.g.mu.Unlock()
	switch {
	case killed:
		r.g.declare(r, job.CauseInjected)
	case r.err != nil:
		r.g.declare(r, job.CauseExit)
	}
	r.engine.Shutdown()
	r.hangUp()
	follower.Wait()
	r.cancel(nil)
}

// die is called at a kill point, possibly by a link in the middle of a frame. In that case
// the program continues for a moment, and may store into the arrays of other replicas. So
// the death is declared only when the program has ended: by live if it has not ended yet.
func (r *replica) die(k job.Kill) {
	r.g.mu.Lock()
	ended := r.finished
	r.killed = true
	r.g.mu.Unlock()
	r.cancel(errors.New("killed"))
	if ended {
		r.g.declare(r, job.CauseInjected)
		go r.hangUp()
	}
	if k.Point == job.KillSection || k.Point == job.KillTask {
		runtime.Goexit()
	}
}

var closing sync.Mutex

func (r *replica) hangUp() {
	for _, l := range r.links {
		_ = l.Close()
	}
	closing.Lock()
	defer closing.Unlock()
	if r.events != nil {
		close(r.events)
		r.events = nil
	}
}

// tell sends an event to a replica that has not ended.
func (r *replica) tell(e job.Event) {
	closing.Lock()
	defer closing.Unlock()
	if r.events != nil {
		r.events <- e
	}
}

// declare declares a replica dead. It releases the other replicas if they wait for this.
func (g *group) declare(r *replica, cause job.Cause) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r.dead || g.over {
		return
	}
	r.dead = true
	v := job.Verdict{Epoch: uint64(len(g.verdicts) + 1), Process: r.setup.Self, Incarnation: r.setup.Incarnation, Cause: cause}
	g.verdicts = append(g.verdicts, v)
	for _, other := range g.replicas {
		if other != r {
			other.tell(v)
		}
	}
	g.release()
}

func (g *group) release() {
	for _, r := range g.replicas {
		if !r.dead && !r.finished {
			return
		}
	}
	if g.over {
		return
	}
	g.over = true
	for _, r := range g.replicas {
		r.tell(job.Release{})
	}
}

// survivors returns the replicas that were not declared dead.
func (g *group) survivors() (all []*replica) {
	for _, r := range g.replicas {
		if !r.dead {
			all = append(all, r)
		}
	}
	return all
}

func (r *replica) Next() (job.Event, error) {
	closing.Lock()
	events := r.events
	closing.Unlock()
	if events == nil {
		return nil, io.EOF
	}
	if e, ok := <-events; ok {
		return e, nil
	}
	return nil, io.EOF
}

func (r *replica) Stats(func() job.Stats) {}
func (r *replica) Tell(stats func() job.Stats) {
	if r.g.onReport != nil {
		r.g.onReport(r, stats())
	}
}
func (r *replica) Trace(block []byte) {
	events, err := timeline.Events(block)
	if err != nil {
		panic(err)
	}
	r.traced = append(r.traced, events...)
}
func (r *replica) Fired(job.Kill, job.Stats)    {}
func (r *replica) Leased(context.Context) error { return nil }
func (r *replica) Drained() error               { return nil }
func (r *replica) Suspect(job.Endpoint, error)  {}
func (r *replica) Reply(answer job.Reply) {
	if r.g.replied != nil {
		r.g.replied(r, answer)
	}
}
func (r *replica) Handled(epoch uint64) {
	r.g.mu.Lock()
	defer r.g.mu.Unlock()
	r.epochs = append(r.epochs, epoch)
}

// handled returns the epochs of the deaths that this replica has handled so far.
func (r *replica) handled() []uint64 {
	r.g.mu.Lock()
	defer r.g.mu.Unlock()
	return slices.Clone(r.epochs)
}

func (r *replica) Fail(f job.Failure, _ job.Stats) error {
	r.g.mu.Lock()
	defer r.g.mu.Unlock()
	r.g.failures = append(r.g.failures, f)
	return nil
}

func (r *replica) Finish(job.Stats) error {
	r.g.mu.Lock()
	defer r.g.mu.Unlock()
	if !r.dead && !r.killed {
		r.finished = true
		r.g.release()
	}
	return nil
}

var (
	kernelAdd   = &Kernel{Name: "engine_test.add"}
	kernelScale = &Kernel{Name: "engine_test.scale"}
)

// runSection runs a section of tasks; launch makes each of them.
func runSection(p *Program, policy sched.Policy, tasks int, launch func(task int) Task) error {
	e := p.Engine()
	s := &Section{Policy: policy, Guard: func(_ *Task, body func()) { body() }}
	e.Opened(s)
	for i := range tasks {
		s.Tasks = append(s.Tasks, launch(i))
		if e.Serial() {
			e.RunAlone(s, i)
		}
	}
	if !e.Serial() {
		if err := e.Share(s); err != nil {
			return err
		}
	}
	e.Closed(s)
	return nil
}

// vectors is the data of a program. Each round computes w = x + w/2, and then x = 3x in
// place.
type vectors struct{ x, w []float64 }

const length = 3000

func newVectors(a *arena.Arena) *vectors {
	v := &vectors{alloc(a, length), alloc(a, length)}
	for i := range v.x {
		v.x[i], v.w[i] = float64(i), 1/float64(i+1)
	}
	return v
}

// round runs the two sections of a round.
func (v *vectors) round(p *Program, policy sched.Policy) error {
	const tasks = 16
	part := func(i int) (lo, hi int) { return i * length / tasks, (i + 1) * length / tasks }
	err := runSection(p, policy, tasks, func(i int) Task {
		lo, hi := part(i)
		x, w := v.x[lo:hi], v.w[lo:hi]
		return Task{Kernel: kernelAdd, Regions: []update.Region{update.Slice(update.In, "x", x), update.Slice(update.InOut, "w", w)},
			Body: func() {
				for k := range w {
					w[k] = x[k] + w[k]/2
				}
			}}
	})
	if err != nil {
		return err
	}
	return runSection(p, policy, tasks, func(i int) Task {
		lo, hi := part(i)
		x := v.x[lo:hi]
		return Task{Kernel: kernelScale, Regions: []update.Region{update.Slice(update.InOut, "x", x)},
			Body: func() {
				for k := range x {
					x[k] = x[k]*3 - float64(k)
				}
			}}
	})
}

// serial returns the vectors after that many rounds on one process.
func serial(rounds int) *vectors {
	v := newVectors(nil)
	for range rounds {
		for k := range v.x {
			v.w[k] = v.x[k] + v.w[k]/2
		}
		for i := range 16 {
			lo, hi := i*length/16, (i+1)*length/16
			for k := range v.x[lo:hi] {
				v.x[lo+k] = v.x[lo+k]*3 - float64(k)
			}
		}
	}
	return v
}
