package kept

import (
	"errors"
	"slices"
)

// errBack ends an operation of a program that rolls back.
var errBack = errors.New("back")

// done gets the next step of an operation without tasks from the machine, and reports
// whether the operation may continue.
func (p *process) done() (bool, error) {
	s, err := p.m.Next()
	p.perform()
	switch {
	case err != nil:
		return false, err
	case s.Kind == Back:
		return false, errBack
	}
	return s.Kind == Done, nil
}

// step performs one step of a process, and reports whether there was one.
func (p *process) step() bool {
	if p.dead || p.finished {
		return false
	}
	if p.stage < 0 {
		p.goBack()
		return true
	}
	o := &p.program().ops[p.at.pc]
	stage, pc, running := p.stage, p.at.pc, len(p.running)
	err := p.do(o)
	p.perform()
	switch {
	case errors.Is(err, errBack):
		p.stage, p.running = -1, nil
		return true
	case err != nil:
		p.j.fail("%v: %w", p, err)
	}
	return stage != p.stage || pc != p.at.pc || running != len(p.running) || p.finished
}

func (p *process) next() {
	p.at.pc++
	p.stage = 0
}

// touched makes the memory of an operation current, and then carries the operation out.
func (p *process) touched(mem part, then func() error) error {
	if p.stage == 0 {
		p.m.Touch(p.span(mem))
		p.stage = 1
		return nil
	}
	if ok, err := p.done(); err != nil || !ok {
		return err
	}
	p.next()
	return then()
}

// did records an operation in the machine.
func (p *process) did(o Op) (again bool, err error) { return p.m.Did(o.Context, o) }

func (p *process) do(o *op) error {
	switch o.kind {
	case section:
		return p.section(o)
	case send:
		return p.touched(o.part, func() error { return p.send(o) })
	case post:
		return p.touched(o.part, func() error { return p.receive(o) })
	case fetch:
		return p.touched(o.part, func() error {
			for _, w := range p.mem[o.part.array][o.part.lo:o.part.hi] {
				p.mem[0][1] = mix(p.mem[0][1], w)
			}
			return nil
		})
	case waitSends:
		for _, m := range p.pending {
			if !m.done {
				return nil
			}
		}
		p.pending = nil
		p.next()
	case waitReceive:
		for i, r := range p.posted {
			if r.id == o.id && r.done {
				p.posted = slices.Delete(p.posted, i, i+1)
				p.next()
				return nil
			}
		}
	case line:
		return p.line()
	case once:
		return p.once()
	case makeContext, freeContext:
		return p.communicator(o)
	case safePoint:
		return p.safePoint(o)
	case finish:
		if p.stage == 0 {
			p.m.Finish()
			p.stage = 1
			return nil
		}
		ok, err := p.done()
		p.finished = ok && p.m.Drained()
		return err
	}
	return nil
}

func (p *process) section(o *op) error {
	if p.stage == 0 {
		if _, err := p.did(Op{Kind: OpSection, Number: p.at.sections, Hash: o.signature()}); err != nil {
			return err
		}
		p.at.sections++
		s := &Section{Number: p.at.sections, Type: o.typ, Other: o.other}
		for _, t := range o.tasks {
			var regions []Region
			for _, x := range t.regions {
				regions = append(regions, Region{x.mode, p.span(x.named), x.full})
			}
			s.Tasks = append(s.Tasks, regions)
		}
		p.m.Enter(s)
		p.stage = 1
		return nil
	}
	if n := len(p.running); n > 0 && p.j.rng.IntN(2) == 0 {
		t := p.running[n-1]
		p.running = p.running[:n-1]
		p.run(o, t)
		p.m.Ran(t)
		return nil
	}
	s, err := p.m.Next()
	p.perform()
	switch {
	case err != nil:
		return err
	case s.Kind == Back:
		return errBack
	case s.Kind == Run:
		p.running = append(p.running, s.Task)
		return nil
	case s.Kind == Wait:
		if n := len(p.running); n > 0 {
			t := p.running[n-1]
			p.running = p.running[:n-1]
			p.run(o, t)
			p.m.Ran(t)
		}
		return nil
	case s.Kind == Share:
		for t := range o.tasks {
			p.run(o, t)
		}
	}
	p.program().fold(o, p.mem)
	p.m.Leave()
	p.next()
	return nil
}

// run runs the body of a task.
func (p *process) run(o *op, t int) {
	o.tasks[t].body(p.mem, p.mem[0][0])
	var hash uint64
	for _, x := range o.tasks[t].regions {
		if x.mode.Written() && x.named.lo < x.named.hi {
			hash = mix(hash, p.mem[x.named.array][x.named.lo])
		}
	}
	p.m.Sample(t, hash)
}

func (p *process) send(o *op) error {
	s := stream{o.ctx, o.peer}
	data := p.mem[o.part.array][o.part.lo:o.part.hi]
	hash, n := uint64(o.tag), p.at.sent[s]
	for _, w := range data {
		hash = mix(hash, w)
	}
	again, err := p.did(Op{Kind: OpSend, Context: o.ctx, Peer: o.peer, Number: n, Tag: o.tag, Hash: hash})
	if err != nil {
		return err
	}
	p.at.sent[s]++
	if again != (n < uint64(len(p.out[s]))) {
		p.j.fail("%v sends message %d of %v, and %d were sent", p, n, s, len(p.out[s]))
		return nil
	}
	if again {
		return nil
	}
	m := &outMessage{tag: o.tag, from: o.part}
	if o.large {
		p.pending = append(p.pending, m)
	} else {
		m.data = slices.Clone(data)
	}
	p.out[s] = append(p.out[s], m)
	p.j.settleSends(p.rank, s, n)
	return nil
}

func (p *process) receive(o *op) error {
	if _, err := p.did(Op{Kind: OpReceive, Context: o.ctx, Peer: o.peer, Tag: o.tag}); err != nil {
		return err
	}
	if !p.opened[o.ctx] || p.closed[o.ctx] {
		p.j.fail("%v receives in communicator %d, which does not exist", p, o.ctx)
	}
	r := &receive{id: o.id, ctx: o.ctx, source: o.peer, tag: o.tag, into: o.part}
	if o.peer < 0 {
		r.any = p.at.any[o.ctx]
		p.at.any[o.ctx]++
	}
	p.posted = append(p.posted, r)
	p.match()
	return nil
}

func (p *process) line() error {
	n, text := p.at.lines, mix(p.mem[0][0], p.mem[0][1])
	again, err := p.did(Op{Kind: OpLine, Number: n, Hash: text})
	if err != nil {
		return err
	}
	if again != (n < p.lines) {
		p.j.fail("%v writes line %d, and %d were written", p, n, p.lines)
	}
	p.at.lines++
	p.lines = max(p.lines, p.at.lines)
	t := &p.j.truth[p.rank]
	if n < uint64(len(t.lines)) {
		if t.lines[n] != text {
			p.j.fail("%v writes another line %d", p, n)
		}
	} else {
		t.lines = append(t.lines, text)
	}
	p.next()
	return nil
}

func (p *process) once() error {
	n := p.at.onces
	if _, err := p.did(Op{Kind: OpOnce, Number: n}); err != nil {
		return err
	}
	if _, held := p.results[n]; !held {
		if _, ran := p.j.truth[p.rank].once[n]; ran {
			p.j.fail("%v runs call %d of Once again", p, n)
		}
		value := p.j.rng.Uint64()
		p.j.truth[p.rank].once[n] = value
		for q := range p.j.replicas(p.rank) {
			q.results[n] = value
		}
	}
	value := p.results[n]
	delete(p.results, n)
	p.m.Resulted(Result{n, words([]uint64{value})})
	p.mem[0][1] = mix(p.mem[0][1], value)
	p.at.onces++
	p.next()
	return nil
}

func (p *process) communicator(o *op) error {
	kind := OpMake
	if o.kind == freeContext {
		kind = OpFree
	}
	again, err := p.did(Op{Kind: kind, Context: o.ctx})
	if err != nil {
		return err
	}
	if kind == OpMake {
		if p.opened[o.ctx] != again || p.closed[o.ctx] {
			p.j.fail("%v makes communicator %d: opened %v, again %v, closed %v", p, o.ctx, p.opened[o.ctx], again, p.closed[o.ctx])
		}
		p.opened[o.ctx] = true
	} else {
		p.freed = append(p.freed, o.ctx)
	}
	p.next()
	return nil
}

func (p *process) describePoint(number uint64) Point {
	after := p.at.clone()
	after.pc++
	point := Point{Number: number, Place: after, Proposal: func() Proposal {
		return Proposal{Types: p.j.types[p.j.rng.IntN(len(p.j.types))], Speed: uint64(p.j.rng.IntN(5)), Points: uint64(p.j.rng.IntN(longest + 1))}
	}}
	for _, i := range p.program().registeredArrays() {
		point.Registered = append(point.Registered, p.span(part{i, 0, p.program().sizes[i]}))
	}
	return point
}

func (p *process) safePoint(o *op) error {
	switch p.stage {
	case 0:
		if _, err := p.did(Op{Kind: OpPoint, Number: o.point}); err != nil {
			return err
		}
		p.at.points = o.point
		p.passed = max(p.passed, o.point)
		if p.j.cut == o.point && !p.cancelled {
			p.m.Cut(o.point)
			p.stage = 2
			return nil
		}
		p.m.SafePoint(p.describePoint(o.point))
		p.stage = 1
		return nil
	case 1:
		if ok, err := p.done(); err != nil || !ok {
			return err
		}
		p.j.bounds(p)
		p.next()
		return nil
	}
	if p.drained && !p.cancelled {
		return nil
	}
	if !p.drained {
		step, err := p.m.Next()
		p.perform()
		switch {
		case err != nil:
			return err
		case step.Kind == Back:
			return errBack
		case step.Kind == Missed && p.cancelled:
			p.j.seen.missed++
		case step.Kind != Done:
			return nil
		default:
			if p.drained = true; !p.cancelled {
				return nil
			}
		}
	}
	p.leaveCut()
	return nil
}

// leaveCut continues the program at the safe point of a cut.
func (p *process) leaveCut() {
	p.drained = false
	p.m.SafePoint(p.describePoint(p.at.points))
	p.stage = 1
}
