package kept

import (
	"cmp"
	"slices"
)

// streams returns the streams of a map in an order that depends only on the program.
func (j *job) streams(of map[stream][]*incoming) (list []stream) {
	for s := range of {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b stream) int { return cmp.Or(cmp.Compare(a.ctx, b.ctx), a.rank-b.rank) })
	return list
}

// incoming returns the streams to a rank that have messages: its replicas know of some, or
// the senders have some.
func (p *process) incoming() (list []stream) {
	for ctx := range p.j.prog.contexts {
		for src := range p.j.prog.ranks {
			if src != p.rank && len(p.j.server(src, p.k).out[stream{ctx, p.rank}]) > 0 {
				list = append(list, stream{ctx, src})
			}
		}
	}
	return list
}

// messages delivers a message, or a part of one, to p, if there is any.
func (p *process) messages() bool {
	list := p.incoming()
	p.j.rng.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
	for _, s := range list {
		if p.j.rng.IntN(2) == 0 && p.whole(s) || p.offer(s) || p.whole(s) {
			return true
		}
	}
	return false
}

// informs reports the death of p to its sibling, once all frames of p have arrived there.
func (p *process) informs() bool {
	q := p.j.procs[p.rank][1-p.k]
	if !p.dead || p.reported || q.dead {
		return false
	}
	if len(p.link)+len(p.slow) > 0 {
		return p.deliver()
	}
	p.reported = true
	q.m.Dead()
	q.perform()
	return true
}

// die kills p. A part of what it has sent still arrives.
func (j *job) die(p *process) {
	p.dead = true
	j.seen.deaths++
	p.link, p.slow = p.link[:j.rng.IntN(len(p.link)+1)], p.slow[:j.rng.IntN(len(p.slow)+1)]
	if j.leader(p.rank) == nil {
		j.seen.rollbacks++
		j.cut, j.rest = 0, false
		j.restore()
		return
	}
	j.settleAll()
}

// is reports whether a process is in the state in which it will be killed.
func (p *process) is(state int) bool {
	switch state {
	case 0:
		return p.stage < 0 || p.m.second != nil
	case 1:
		n := len(p.m.images)
		return n > 1 && !p.m.images[n-1].whole()
	case 2:
		return p.m.open != nil
	case 3:
		return len(p.held) > 0
	case 4:
		return p.drained || p.stage == 2
	case 5:
		return p.m.round.Section != nil && p.m.round.keeps
	case 6:
		q := p.j.procs[p.rank][1-p.k] // its sibling lacks something
		return !q.dead && len(q.m.holders.runs) > 0
	}
	return true
}

// kill kills a process if that is due.
func (j *job) kill(now int) bool {
	for i, k := range j.kills {
		if k.from > now {
			continue
		}
		var list []*process
		for p := range j.all() {
			if p.is(k.state) {
				list = append(list, p)
			}
		}
		if len(list) > 0 {
			j.kills = slices.Delete(j.kills, i, i+1)
			j.die(list[j.rng.IntN(len(list))])
			return true
		}
	}
	return false
}

// planCut chooses a safe point for a cut that no live process has passed. A process that has
// died may have passed it.
func (j *job) planCut() bool {
	var most uint64
	for p := range j.all() {
		most = max(most, p.passed)
	}
	if most > j.prog.points {
		j.fail("a process has passed %d of %d safe points", most, j.prog.points)
	}
	if j.cut > 0 || most+1 > j.prog.points || j.noCuts {
		return false
	}
	j.cut = most + 1
	return true
}

// cancelCut cancels the cut, and there is no other one until a rollback. Each process learns
// this at another time.
func (j *job) cancelCut() bool {
	if j.cut == 0 || j.rest {
		return false
	}
	j.rest = true
	return true
}

// hears informs p that the cut is cancelled.
func (p *process) hears() bool {
	if !p.j.rest || p.cancelled || p.dead {
		return false
	}
	p.cancelled = true
	return true
}

// endCut ends the cut once all processes are in it.
func (j *job) endCut() bool {
	if j.cut == 0 || j.rest {
		return false
	}
	for r := range j.procs {
		for _, p := range j.procs[r] {
			if p.dead && !p.reported || !p.dead && !p.drained {
				return false
			}
		}
	}
	for p := range j.all() {
		for p.messages() {
		}
		if n := len(p.m.holders.runs); n > 0 {
			j.fail("%v is in a cut, and %d pieces of memory are not everywhere", p, n)
		}
		for _, ctx := range p.freed {
			if !p.closed[ctx] {
				j.fail("%v is in a cut, and still has communicator %d, which it has freed", p, ctx)
			}
		}
		if n := len(p.m.images); n > 0 {
			j.fail("%v is in a cut, and holds %d images", p, n)
		}
		clear(p.at.any) // decisions are numbered from 0 again
	}
	j.settleAll()
	for r := range j.procs {
		p := j.leader(r)
		point := p.describePoint(j.cut)
		b := backup{at: point.Place.(place), core: p.clone(), passed: p.passed, lines: p.lines}
		for _, i := range p.program().registeredArrays() {
			b.image = append(b.image, slices.Clone(p.mem[i]))
		}
		j.backup[r] = b
		if q := j.procs[r][1-p.k]; q.dead && j.rng.IntN(3) > 0 {
			j.join(r, q.k, p)
		}
	}
	for p := range j.all() {
		p.leaveCut()
	}
	j.cut = 0
	return true
}

// join replaces a dead process by one that gets the state of its sibling.
func (j *job) join(rank, k int, from *process) {
	j.seen.joins++
	p := j.newProcess(rank, k, New(j.configOf(k)))
	p.core, p.passed, p.lines = from.clone(), from.passed, from.lines
	p.at = from.at.clone()
	p.allocate()
	for _, i := range p.program().registeredArrays() {
		copy(p.mem[i], from.mem[i])
	}
	j.procs[rank][k] = p
	from.took, from.link, from.slow = 0, nil, nil
	if err := from.m.Join(); err != nil {
		j.fail("%v: %v", from, err)
	}
}

// bounds checks what a process holds after a safe point.
func (j *job) bounds(p *process) {
	m := p.m
	if !m.paired() || m.second != nil || len(m.images) == 0 {
		return
	}
	if n := p.at.points - m.images[0].point; n > 2*longest {
		j.fail("%v is %d safe points behind its image", p, n)
	}
	if len(p.held) > 0 {
		j.fail("%v passes a safe point and still holds pieces", p)
	}
	if len(m.images) > 2 {
		j.fail("%v holds %d images", p, len(m.images))
	}
	points := uint64(0)
	for _, im := range m.images {
		for _, o := range im.since.ops[0] {
			if o.Kind == OpPoint {
				points++
			}
		}
	}
	if n := p.at.points - m.images[0].point; points != n {
		j.fail("%v has a log of %d safe points, %d behind its image", p, points, n)
	}
	if m.images[len(m.images)-1].point == p.at.points && p.at.points > m.images[0].point {
		if n := m.holders.bytes(p.describePoint(0).Registered); n > m.cfg.Strays {
			j.fail("%v leaves %d words of other memory on one replica only", p, n)
		}
	}
}
