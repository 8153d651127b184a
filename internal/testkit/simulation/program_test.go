package simulation

import (
	"fmt"
	"math/rand/v2"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/base/bridge"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/testkit/commtest"
	"github.com/intrahpc/intra/update"
)

// program is the program of a process in one of its lives: a loop with a safe point in
// each pass. Its registered state suffices to continue it.
type program struct {
	p             *process
	first, points uint64
	due           bool
	restored      bool

	meta    [2]uint64 // number of the pass, and sum of all observations
	words   []uint64  // results of the sections
	regions []update.Region

	world, traffic *comm.Comm
	teams          []*comm.Comm
	pending        map[uint64][]*comm.Request // by pass: the sends
	output         output
}

const words = 24

// newProgram makes the program of a life, from the state with which that life
// begins.
func (p *process) newProgram() (*program, error) {
	if p.memory == nil {
		p.memory = make([]uint64, words)
	}
	g := &program{p: p, words: p.memory, pending: make(map[uint64][]*comm.Request)}
	g.regions = append(g.regions, update.Slice(update.InOut, "meta", g.meta[:]))
	for i := 0; i < words; i += 8 {
		g.regions = append(g.regions, update.Slice(update.InOut, "words", g.words[i:i+8]))
	}
	if p.w.spec.outputs {
		g.regions = append(g.regions, update.Slice(update.InOut, "output", g.output.state[:]))
	}
	for i := range g.words {
		g.words[i] = uint64(p.self.Rank*words + i)
	}
	p.pause()
	if p.startAt != nil {
		if p.image != nil {
			if n := p.pending + p.filling; n > 0 {
				p.w.fail("%v gets its state while %d links use its memory", p, n)
			}
			for i, b := range g.image() {
				copy(b, p.image[i])
			}
		} else if !p.back.Pending() {
			return nil, fmt.Errorf("%v has no state to begin with", p)
		}
		g.restored = true
		g.first = p.startAt.point - 1
		g.points = g.first
		p.image = nil
	}
	if p.back.Pending() {
		return nil, errBack
	}
	if p.w.spec.outputs {
		g.openOutput()
	}
	p.program = g
	g.due = p.member.Due()
	return g, nil
}

// image returns the registered state: views of the program's memory.
func (g *program) image() [][]byte { return update.Payload(nil, g.regions) }

// safePoint passes a safe point, where replicas join and backups are taken.
func (g *program) safePoint() error {
	p := g.p
	g.points++
	p.passed = g.points
	p.pause()
	first := g.points == g.first+1
	if first {
		p.msgs.Resume()
		if !g.restored && p.recovers {
			p.reply(job.Reply{Kind: job.ReplyFirst, Generation: p.member.Generation()})
		}
	}
	switch {
	case first && g.restored:
		return g.output.resume() // the state was taken at this safe point
	case g.due:
		if err := p.safePoint(g.points); err != nil {
			return err
		}
	}
	p.w.head.passes(p, g.points)
	return nil
}

// make makes the communicators.
func (g *program) make() error {
	world, err := bridge.World(g.p.msgs)
	if err != nil {
		return err
	}
	g.world = world.(*comm.Comm)
	if g.traffic, err = g.world.Dup(); err != nil {
		return err
	}
	half, err := g.world.Split(g.p.self.Rank%2, -g.p.self.Rank)
	if err != nil {
		return err
	}
	g.teams = []*comm.Comm{g.world, g.traffic, half, g.world}
	return nil
}

// run runs the program.
func (g *program) run() error {
	s := g.p.w.spec
	if err := g.make(); err != nil {
		return fmt.Errorf("make communicators: %w", err)
	}
	for pass := g.meta[0]; pass < s.passes; pass++ {
		g.meta[0] = pass
		if !s.pointless {
			if err := g.safePoint(); err != nil {
				return fmt.Errorf("safe point %d: %w", pass, err)
			}
		}
		if err := g.pass(pass); err != nil {
			return fmt.Errorf("pass %d: %w", pass, err)
		}
		if err := g.write(pass); err != nil {
			return fmt.Errorf("output of pass %d: %w", pass, err)
		}
	}
	g.meta[0] = s.passes
	if err := g.finish(); err != nil {
		return err
	}
	for _, w := range g.words {
		g.meta[1] = mix(g.meta[1], w)
	}
	return nil
}

// pass runs one pass of the loop.
func (g *program) pass(pass uint64) error {
	s := g.p.w.spec
	if err := g.receive(pass); err != nil {
		return fmt.Errorf("messages of the pass before: %w", err)
	}
	team := g.teams[(s.seed+pass)%uint64(len(g.teams))]
	k := &rank{program: g}
	if s.does != anything {
		w := &commtest.World{Comm: team, Plan: rand.New(rand.NewPCG(s.plan, pass)), Sum: g.meta[1]}
		step := k.exchange
		if s.does == sections {
			step = k.work
		}
		for range 2 + s.steps {
			if err := step(w); err != nil {
				return err
			}
		}
		g.meta[1] = mix(w.Sum, pass)
		return g.send(pass)
	}
	sum, err := commtest.Run(team, s.plan+pass, s.steps, k.steps()...)
	if err != nil {
		return err
	}
	g.meta[1] = mix(g.meta[1], sum+pass)
	return g.send(pass)
}

// send sends messages that are received after the next safe point.
func (g *program) send(pass uint64) error {
	for _, m := range g.crossing(pass) {
		if m.from == g.world.Rank() {
			buf := make([]uint64, m.size)
			for i := range buf {
				buf[i] = m.word(i)
			}
			g.pending[pass] = append(g.pending[pass], comm.Isend(g.traffic, buf, m.to, m.tag))
		}
	}
	return nil
}

// receive receives the messages of the previous pass.
func (g *program) receive(pass uint64) error {
	if pass == 0 {
		return nil
	}
	for _, m := range g.crossing(pass - 1) {
		if m.to != g.world.Rank() {
			continue
		}
		buf := make([]uint64, m.size)
		st, err := comm.Recv(g.traffic, buf, m.from, m.tag)
		if err != nil {
			return err
		}
		if st.Count != m.size {
			return fmt.Errorf("message of %d words from rank %d, want %d", st.Count, m.from, m.size)
		}
		for i, v := range buf {
			if v != m.word(i) {
				return fmt.Errorf("message from rank %d with tag %d: word %d is %x", m.from, m.tag, i, v)
			}
		}
	}
	err := comm.WaitAll(g.pending[pass-1]...)
	delete(g.pending, pass-1)
	return err
}

// finish receives the messages of the last pass. It also makes sure that all peers get the
// messages that this process still keeps.
func (g *program) finish() error {
	if err := g.receive(g.p.w.spec.passes); err != nil {
		return fmt.Errorf("messages of the last pass: %w", err)
	}
	return g.output.publish()
}

// crossing returns the messages of a pass that are received in the next pass.
func (g *program) crossing(pass uint64) (list []crossing) {
	s := g.p.w.spec
	plan := rand.New(rand.NewPCG(s.plan, pass+1000))
	n := len(s.degrees)
	for range plan.IntN(2 * n) {
		list = append(list, crossing{len(list), plan.IntN(n), plan.IntN(n), []int{1, 3, 40, 200}[plan.IntN(4)], 1000 + int(pass%2)})
	}
	return list
}

type crossing struct{ id, from, to, size, tag int }

func (m crossing) word(i int) uint64 {
	return uint64(m.id)<<50 + uint64(m.tag*1000+m.from)<<20 + uint64(i)
}
