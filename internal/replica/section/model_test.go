package section

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/sched"
)

// A model is a rank in virtual time. Its replicas have given speeds and one core each, and
// run sections of equal tasks. They receive frames between two tasks and while they wait,
// and spend time on sending updates.
type model struct {
	tasks    int
	task     time.Duration // time of a task at speed 1
	transfer time.Duration // time that a sender spends on an update
	latency  time.Duration // delay of a frame
	noise    float64       // standard deviation of the time of a task, relative to that time
	together bool          // all replicas enter a section when the last one has left the previous one
	policy   sched.Policy
	blind    bool // replicas do not know the times of their peers
	rng      *rand.Rand
	hosts    []*host
}

// host is a replica in the model.
type host struct {
	*Machine
	c        *model
	speed    func(at time.Duration) float64
	times    Times
	at       time.Duration // time of its next action
	waits    bool          // it waits for a frame, or until at
	running  int           // the task that ends at at, -1 if none
	began    time.Duration
	ran      int
	mail     []letter        // in order of arrival
	sections []time.Duration // time of each section
	entered  time.Duration
}

// letter is a frame in flight.
type letter struct {
	due    time.Duration
	update Update
	claim  bool
}

// pace is the speed of a replica at a time.
type pace = func(at time.Duration) float64

// never is later than any time in a model.
const never = time.Hour

func newModel(c model, seed uint64, speeds ...pace) *model {
	c.rng = rand.New(rand.NewPCG(seed, 3))
	for i, speed := range speeds {
		h := &host{Machine: New(Config{Replica: i, Replicas: len(speeds), InboxBytes: 1 << 30}), c: &c, speed: speed, running: -1}
		h.at = time.Duration(1 + c.rng.IntN(1000)) // replicas do not start at the same instant
		h.times.Transfer = c.transfer
		c.hosts = append(c.hosts, h)
	}
	return &c
}

// always returns a constant speed.
func always(speed float64) pace {
	return func(time.Duration) float64 { return speed }
}

// run makes every replica run that many sections.
func (c *model) run(sections int) {
	for {
		var next *host
		for _, h := range c.hosts {
			if len(h.sections) < sections && (next == nil || h.at < next.at) {
				next = h
			}
		}
		if next == nil {
			return
		}
		if next.at >= never {
			panic(fmt.Sprintf("hang in section %d", next.Number()))
		}
		next.act(next.at)
	}
}

// act performs the next action of h: it ends a body, or looks for another task.
func (h *host) act(now time.Duration) {
	switch {
	case !h.open && h.c.together && !h.c.all(len(h.sections)):
		h.at = never // the last replica that leaves wakes it
		return
	case !h.open:
		h.enter(now)
		return
	case h.running >= 0:
		h.ended(now)
		return
	}
	h.read(now)
	step, acts := h.Next(now)
	h.post(now, acts)
	switch h.waits = step.Kind == Wait; step.Kind {
	case Done:
		h.Leave()
		h.sections = append(h.sections, now-h.entered)
		if h.c.together && h.c.all(len(h.sections)) {
			for _, other := range h.c.hosts {
				other.at = now + time.Duration(1+h.c.rng.IntN(1000))
			}
		}
	case Run:
		h.ran++
		h.running, h.began = step.Task, now
		took := float64(h.c.task) * max(0.5, 1+float64(h.c.noise*h.c.rng.NormFloat64()))
		h.at = h.stretched(now, time.Duration(took))
	case Wait:
		h.at = never
		if step.Until > 0 {
			h.at = max(step.Until, now+1)
		}
		if len(h.mail) > 0 {
			h.at = min(h.at, max(h.mail[0].due, now))
		}
	}
}

// stretched returns the time at which an amount of work at speed 1 is done, if it begins
// now.
func (h *host) stretched(now, work time.Duration) time.Duration {
	const slice = 50 * time.Microsecond
	left := float64(work)
	for {
		did := float64(slice) * h.speed(now)
		if did >= left {
			return now + time.Duration(left/did*float64(slice))
		}
		left -= did
		now += slice
	}
}

// all reports whether every replica has left that many sections.
func (c *model) all(sections int) bool {
	return !slices.ContainsFunc(c.hosts, func(h *host) bool { return len(h.sections) < sections })
}

func (h *host) enter(now time.Duration) {
	h.entered = now
	e := Entry{Policy: h.c.policy, Tasks: h.c.tasks, Signature: 7, Patience: h.patience}
	if !h.c.blind {
		e.Times = func(int) *Times { return &h.times }
	}
	if _, err := h.Enter(e, now); err != nil {
		panic(err)
	}
	h.at = now
}

// patience follows the rule of package engine.
func (h *host) patience(int) time.Duration {
	own := h.times.typical(h.me)
	if own == 0 {
		return 100 * time.Millisecond
	}
	return 2*(own+h.c.transfer) + 200*time.Microsecond
}

// ended handles the end of a body. Its update is sent before anything else is done.
func (h *host) ended(now time.Duration) {
	t := h.running
	h.running = -1
	h.times.Took(h.me, now-h.began)
	acts := h.Ran(t)
	h.at = now
	if len(acts) > 0 {
		h.at += h.c.transfer
	}
	h.post(now, acts)
}

func (h *host) read(now time.Duration) {
	for len(h.mail) > 0 && h.mail[0].due <= now {
		l := h.mail[0]
		h.mail = h.mail[1:]
		l.update.Came = now
		var err error
		if l.claim {
			err = h.Claimed(l.update, now)
		} else {
			_, err = h.Arrive(l.update, nil, false)
		}
		if err != nil {
			panic(err)
		}
	}
}

func (h *host) post(now time.Duration, acts []Action) {
	for _, a := range acts {
		l := letter{due: now + h.c.latency, claim: a.Kind == Claim,
			update: Update{Peer: h.me, Section: h.Number(), Task: a.Task, Tasks: h.c.tasks, Signature: 7, At: now}}
		switch a.Kind {
		case Claim:
		case Send:
			l.due += h.c.transfer
		default:
			continue
		}
		to := h.c.hosts[a.Peer]
		if n := len(to.mail); n > 0 { // frames of one peer stay in order; those of other peers may overtake them
			i := n
			for i > 0 && to.mail[i-1].due > l.due {
				i--
			}
			to.mail = slices.Insert(to.mail, i, l)
		} else {
			to.mail = append(to.mail, l)
		}
		if to.open && to.waits && to.running < 0 {
			to.at = min(to.at, l.due)
		}
	}
}

// outcome is the summary of a run.
type outcome struct {
	ratio float64 // time until the last replica is done, relative to the ideal time
	twice float64 // number of bodies beyond one per task, relative to the number of tasks
}

func (o outcome) String() string { return fmt.Sprintf("%.3f (%+.1f%% bodies)", o.ratio, 100*o.twice) }

// measure runs that many sections. The ideal time is the amount of all work divided by the
// sum of the speeds, up to the moment when the last replica has left.
func (c *model) measure(sections int) outcome {
	c.run(sections)
	var taken time.Duration
	could := 0.0 // the work that all speeds together could have done in that time
	ran, end := 0, time.Duration(0)
	for _, h := range c.hosts {
		ran += h.ran
		end = max(end, h.entered+h.sections[sections-1])
	}
	for taken < end {
		const slice = 50 * time.Microsecond
		for _, h := range c.hosts {
			could += float64(h.speed(taken) * float64(slice))
		}
		taken += slice
	}
	return outcome{
		ratio: could / (float64(c.task) * float64(sections*c.tasks)),
		twice: float64(ran)/float64(sections*c.tasks) - 1,
	}
}

// shared returns the outcome of a schedule. blind replicas trust any claim for about twice
// the time of a task on their own core. Other replicas know the times of their peers.
func shared(c model, policy sched.Policy, blind bool, sections int, paces ...pace) outcome {
	c.policy, c.blind = policy, blind
	return newModel(c, 1, paces...).measure(sections)
}

// TestUnequalSpeeds checks the time of a section, relative to the ideal time
// for the speeds of its replicas: all work divided by the sum of the speeds.
// With whole tasks no schedule reaches the ideal.
func TestUnequalSpeeds(t *testing.T) {
	half, quarter := []float64{1, 0.5}, []float64{1, 0.25}
	for _, tt := range []struct {
		speeds []float64
		tasks  int
		most   float64 // bound of the time, relative to the ideal time
	}{
		{half, 8, 1.14}, {half, 16, 1.1}, {half, 32, 1.06}, {half, 64, 1.04},
		{[]float64{0.5, 1}, 16, 1.1}, {[]float64{0.5, 1}, 64, 1.04},
		{quarter, 8, 1.25}, {quarter, 16, 1.1}, {quarter, 32, 1.06}, {quarter, 64, 1.04},
		{[]float64{1, 1, 0.5}, 16, 1.15}, {[]float64{1, 1, 0.5}, 64, 1.04},
		{[]float64{1, 0.5, 0.25}, 16, 1.15}, {[]float64{1, 0.5, 0.25}, 64, 1.04},
		{[]float64{1, 0.9}, 32, 1.04}, {[]float64{1, 0.9}, 64, 1.04},
	} {
		for _, noise := range []float64{0.02, 0.1} {
			for _, together := range []bool{true, false} {
				t.Run(fmt.Sprint(tt.tasks, tt.speeds, noise, together), func(t *testing.T) {
					var paces []pace
					for _, s := range tt.speeds {
						paces = append(paces, always(s))
					}
					c := model{tasks: tt.tasks, task: time.Millisecond, transfer: 10 * time.Microsecond,
						latency: 2 * time.Microsecond, noise: noise, together: together}
					const sections = 40
					static := shared(c, sched.Static, true, sections, paces...)
					blind := shared(c, sched.Adaptive, true, sections, paces...)
					got := shared(c, sched.Adaptive, false, sections, paces...)
					t.Logf("static %v, adaptive %v, without knowing the peers %v", static, got, blind)
					require.LessOrEqual(t, got.ratio, tt.most)
					require.LessOrEqual(t, got.ratio, blind.ratio+0.01)
					require.LessOrEqual(t, got.ratio, static.ratio+0.01)
				})
			}
		}
	}
}

// TestEqualSpeeds requires that replicas of equal speed hardly ever run a task twice, and
// are as fast as with the static schedule.
func TestEqualSpeeds(t *testing.T) {
	for _, replicas := range []int{2, 3} {
		for _, tasks := range []int{8, 16, 17, 32, 64} {
			for _, noise := range []float64{0.005, 0.05, 0.2} {
				for _, transfer := range []time.Duration{0, 200 * time.Microsecond} {
					t.Run(fmt.Sprint(replicas, tasks, noise, transfer), func(t *testing.T) {
						paces := slices.Repeat([]pace{always(1)}, replicas)
						c := model{tasks: tasks, task: time.Millisecond, transfer: transfer, latency: 2 * time.Microsecond, noise: noise}
						const sections = 40
						static, got := shared(c, sched.Static, true, sections, paces...), shared(c, sched.Adaptive, false, sections, paces...)
						most := 0.01
						if replicas > 2 { // the first two replicas that are done may start the last task at the same instant
							most = shared(c, sched.Adaptive, true, sections, paces...).twice + 0.005
						}
						t.Logf("static %v, adaptive %v", static, got)
						require.LessOrEqual(t, got.twice, most)
						require.LessOrEqual(t, got.ratio, static.ratio+0.01)
					})
				}
			}
		}
	}
}

// TestSpeedsChange makes a replica slower or faster in the middle of a section, or stops
// it for a while.
func TestSpeedsChange(t *testing.T) {
	for _, tt := range []struct {
		name  string
		other pace
		most  float64
	}{
		{"slower", func(at time.Duration) float64 {
			if at > 100*time.Millisecond {
				return 0.5
			}
			return 1
		}, 1.06},
		{"by turns", func(at time.Duration) float64 {
			if at/(50*time.Millisecond)%2 == 0 {
				return 0.4
			}
			return 1
		}, 1.06},
		{"stopped for a while", func(at time.Duration) float64 {
			if at%(100*time.Millisecond) > 70*time.Millisecond {
				return 0
			}
			return 1
		}, 1.18},
	} {
		for _, together := range []bool{true, false} {
			t.Run(fmt.Sprint(tt.name, together), func(t *testing.T) {
				c := model{tasks: 16, task: time.Millisecond, transfer: 10 * time.Microsecond, latency: 2 * time.Microsecond,
					noise: 0.05, together: together}
				const sections = 40
				static := shared(c, sched.Static, true, sections, always(1), tt.other)
				blind := shared(c, sched.Adaptive, true, sections, always(1), tt.other)
				got := shared(c, sched.Adaptive, false, sections, always(1), tt.other)
				t.Logf("static %v, adaptive %v, without knowing the peers %v", static, got, blind)
				require.LessOrEqual(t, got.ratio, blind.ratio+0.02)
				require.LessOrEqual(t, got.ratio, tt.most)
				require.Less(t, got.ratio, static.ratio)
			})
		}
	}
}
