package head

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// recovering is the head's part in recovery: what waits between recovery.Head,
// which decides, and those who carry it out.
type recovering struct {
	decides *recovery.Head    // nil: what is lost stays lost
	keeping bool              // a decision is to be kept before anything else happens
	rest    []recovery.Action // what follows from it
	acting  bool              // what an event led to is being done
	// together: of processes that died with their host, some were told of. Nothing
	// follows before all are.
	together  bool
	events    []news           // that wait for that
	quiets    map[uint64]asked // what is told when a process is quiet
	number    uint64           // of the last of these
	saved     saved
	refused   map[job.Process]string     // why a process could not be replaced, as the user was told last
	safe      bool                       // somebody has come to a safe point
	losses    []int                      // ranks that nobody is left of
	lossAt    time.Duration              // when the first of them was lost, or came into doubt
	doubts    map[int]*doubt             // by rank
	offenders map[job.Endpoint]*offender // convicted, where only a share of the tasks are compared
	bytes     int64                      // that were copied for backups
	seconds   float64                    // what that has held up a rank
}

// asked is a process that was asked to be quiet, and why.
type asked struct {
	m     *member
	reply *job.Reply // what it has said; nil: to be repeated by a successor
}

// saved is where the output of each rank stood at the backup that is being taken.
type saved struct {
	number     uint64
	generation uint32
	outputs    []Position
}

// news is an event for those who decide.
type news struct {
	kind        newsKind
	process     job.Process
	incarnation uint32
	itself      bool
	reply       job.Reply
	text        string
	set         uint64
}

// newsKind names an event of recovery.Head.
type newsKind uint8

const (
	newsArrived newsKind = iota
	newsSpareReady
	newsSpareGone
	newsDied
	newsDiedWith
	newsAllDied
	newsFinished
	newsDrained
	newsReply
	newsRefused
	newsUnstarted
	newsAgain
	newsReturned
	newsPublished
	newsRepeated
	newsDoubted
	newsConvicted
)

// plan is what recovery is told of the job.
func (h *Head) plan() recovery.Config {
	c := recovery.Config{Degrees: h.config.Degrees, Start: h.config.Replace, Spares: h.spares(), Backup: h.config.Backup,
		Host: func(p job.Process) string { return h.places[p].node.Name }}
	if v := h.config.Setup.Verify; v != nil {
		c.Compared, c.Suspect = v.State, v.Samples()
	}
	if f := h.state.Opened; f != nil {
		if f.Restart != nil {
			c.From = f.Restart.Cut
		}
		if f.Write != nil {
			c.Files = recovery.Files{Every: h.config.Checkpoint.Every, First: f.First}
		}
	}
	return c
}

// notify tells those who decide of an event, and does what they want: at once,
// or when something has been kept, or when what an event before it led to has
// been done, if it is part of that.
func (h *Head) notify(n news) {
	if h.recovery.decides == nil {
		return
	}
	h.recovery.events = append(h.recovery.events, n)
	h.catchUp()
}

// about says which process an event is about.
func (n news) about(m *member) news {
	n.process, n.incarnation = m.process, m.incarnation
	return n
}

// catchUp tells of the events that wait, and draws the conclusions.
func (h *Head) catchUp() {
	r := &h.recovery
	for !r.keeping && !r.acting {
		if len(r.events) == 0 {
			if r.together {
				return
			}
			h.settle()
			h.releaseIfComplete()
			return
		}
		n := r.events[0]
		r.events = r.events[1:]
		h.perform(h.tellRecovery(n))
	}
}

func (h *Head) tellRecovery(n news) []recovery.Action {
	d, now := h.recovery.decides, h.elapsed()
	switch n.kind {
	case newsArrived:
		return d.Arrived(n.process, n.incarnation, now)
	case newsSpareReady:
		return d.SpareReady(now)
	case newsSpareGone:
		return d.SpareGone(now)
	case newsDied:
		return d.Died(n.process, n.incarnation, n.itself, now)
	case newsDiedWith:
		h.recovery.together = true
		return d.DiedWith(n.process, n.incarnation, n.itself, now)
	case newsAllDied:
		h.recovery.together = false
		return d.Conclude(now)
	case newsFinished:
		return d.Finished(n.process, n.incarnation, now)
	case newsDrained:
		return d.Through(n.process, n.incarnation, now)
	case newsReply:
		return d.Reply(n.process, n.incarnation, n.reply, now)
	case newsRefused:
		return d.Refused(n.process, n.incarnation, n.text, now)
	case newsUnstarted:
		return d.Unstarted(n.process, n.incarnation, n.text, now)
	case newsAgain:
		return d.Again(now)
	case newsReturned:
		return d.Returned(n.process, n.incarnation, now)
	case newsRepeated:
		return d.Repeated(n.process, n.incarnation, now)
	case newsDoubted:
		return h.doubted(n.process.Rank)
	case newsConvicted:
		return h.distrusted(job.Endpoint{Process: n.process, Incarnation: n.incarnation})
	}
	d.Published(n.set)
	return nil
}

// perform does what was decided, all of it before the next event; what follows
// from a decision waits until that is kept.
func (h *Head) perform(acts []recovery.Action) {
	h.recovery.acting = true
	defer func() { h.recovery.acting = false }()
	for i, a := range acts {
		switch a.Kind {
		case recovery.Keep:
			h.recovery.keeping, h.recovery.rest = true, acts[i+1:]
			h.keep(*a.Decision)
			return
		case recovery.Start:
			h.wanted[a.To] = a.Incarnation
			h.fill(a.To)
		case recovery.Later:
			h.after(a.Pause, timer{kind: askAgain})
		case recovery.Send:
			if m := h.holder(a.To, a.Incarnation); m != nil && m.state.there() {
				h.order(m, a.Order)
			}
		case recovery.Connect:
			for _, p := range a.Peers {
				h.introduce(h.places[a.To], h.places[p])
			}
		case recovery.Dismiss:
			h.dismiss(a.To)
		case recovery.Publish:
			h.keepSet(a)
		case recovery.Abandon:
			h.abandonSet(a.Set, a.Why)
		case recovery.Lose:
			for _, p := range job.Processes(h.config.Degrees) {
				h.dismiss(p)
			}
			h.beyond(a.Loss)
		}
	}
}

// keep has a decision kept, with what belongs to it and recovery does not know.
func (h *Head) keep(d recovery.Decision) {
	e := decision.Entry{Kind: decision.Recovery, Recovery: &d}
	switch d.Kind {
	case recovery.Admitted:
		d.Joined = slices.Clone(d.Joined)
		for i := range d.Joined {
			d.Joined[i].Output = h.places[d.Joined[i].Donor].stood
		}
	case recovery.Complete:
		if s := &h.recovery.saved; s.number == d.Number {
			d.Outputs = encode(s.outputs)
		}
	case recovery.RolledBack:
		e.Ranks, e.Since = slices.Sorted(slices.Values(h.recovery.losses)), h.recovery.lossAt
	}
	h.propose(e)
}

// kept: a decision is, and what follows from it happens.
func (h *Head) kept(e decision.Entry) {
	d := e.Recovery
	switch d.Kind {
	case recovery.Admitted:
		for _, j := range d.Joined {
			m := h.holder(j.Process, j.Incarnation)
			if h.live(m); m.state == running {
				h.act(Resume{m.from, j.Output, d.Generation, false})
				h.sayReplaced(m)
			}
		}
	case recovery.Complete:
		if h.state.Backups == 1 {
			h.detailf("the first backup is complete: safe point %d", d.Number)
		}
		h.doubtedStill()
	case recovery.RolledBack:
		h.warnf("the job goes back to safe point %d", d.Number)
		for _, j := range d.Joined {
			m := h.holder(j.Process, j.Incarnation)
			if h.live(m); m.state == running {
				h.sayReplaced(m)
			}
		}
		for _, m := range h.all {
			if m.role == First && m.state.there() {
				if m.state == finished {
					m.to(running)
				}
				m.final, m.muted = false, true
				h.act(Mute{m.from})
			}
		}
	case recovery.Resumed:
		h.recovery.losses, h.recovery.lossAt = nil, 0
	}
	h.recovery.keeping = false
	rest := h.recovery.rest
	h.recovery.rest = nil
	h.perform(rest)
	h.catchUp()
}

// live: a joiner has its state from here on, or would, had it not died since.
func (h *Head) live(m *member) {
	if m.role = First; m.state == arriving {
		m.to(running)
	}
}

// order passes an order on, and does the head's part in it.
func (h *Head) order(m *member, o job.Order) {
	if s := &h.recovery.saved; o.Kind == job.OrderGo && o.Plan != nil && (s.number != o.Number || s.generation != o.Generation) {
		*s = saved{number: o.Number, generation: o.Generation}
		for _, c := range o.Plan {
			s.outputs = append(s.outputs, h.places[c.Source].stood)
		}
	}
	h.send(m, &job.Message{Kind: job.KindOrder, Order: &o})
}

// reply takes in what a process says about recovery. One that stands still
// counts as doing so only once all that it has written before was taken.
func (h *Head) reply(m *member, r job.Reply) {
	if r.Kind == job.ReplyDrained && h.divergedBefore(m, &r) {
		return
	}
	switch r.Kind {
	case job.ReplyDrained, job.ReplyJoined, job.ReplyReady:
		h.askQuiet(asked{m, &r})
		return
	case job.ReplyFirst:
		h.recovery.safe = true
	case job.ReplyStored:
		if r.Bytes > 0 {
			h.recovery.bytes += r.Bytes
			h.recovery.seconds += r.Seconds / float64(len(h.config.Degrees))
		}
	}
	h.notify(news{kind: newsReply, reply: r}.about(m))
}

func (h *Head) askQuiet(a asked) {
	r := &h.recovery
	r.number++
	if r.quiets == nil {
		r.quiets = make(map[uint64]asked)
	}
	r.quiets[r.number] = a
	h.act(AskQuiet{a.m.from, r.number})
}

// quiet: a process is.
func (h *Head) quiet(m *member, e Quiet) {
	a, ok := h.recovery.quiets[e.Number]
	if delete(h.recovery.quiets, e.Number); !ok || !m.state.there() {
		return
	}
	if a.reply == nil {
		h.notify(news{kind: newsRepeated}.about(m))
		return
	}
	switch r := *a.reply; r.Kind {
	case job.ReplyDrained:
		m.stood = e.Position
	case job.ReplyReady:
		if m.muted && r.Generation == h.recovery.decides.Generation() { // else it was back under another head
			m.muted = false
			h.act(Resume{m.from, h.backupOutput(m.process.Rank), r.Generation, h.anew(r.Generation)})
		}
	}
	h.notify(news{kind: newsReply, reply: *a.reply}.about(m))
}

// backupOutput returns where the output of a rank stood at the last backup.
func (h *Head) backupOutput(rank int) Position {
	var all []Position
	if len(h.state.Recovery.Outputs) == 0 || json.Unmarshal(h.state.Recovery.Outputs, &all) != nil || rank >= len(all) {
		return nil
	}
	return all[rank]
}

func encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("head: " + err.Error()) // Positions are JSON
	}
	return b
}

// died tells recovery of a death.
func (h *Head) died(m *member) {
	if h.recovery.decides == nil || h.phase > working {
		return
	}
	lost := h.lostRank(m)
	if lost {
		h.unfill()
	}
	kind := newsDied
	if m.verdict.Cause == job.CauseHost { // others may have gone with it
		kind = newsDiedWith
	}
	h.notify(news{kind: kind, itself: itself(m.verdict.Cause)}.about(m))
	if lost {
		h.sayLost(m)
	}
}

// sayLost tells the user that the job will go back, if it will because of that
// death.
func (h *Head) sayLost(m *member) {
	if rank := m.process.Rank; h.recovery.decides != nil && h.outcome == nil && h.phase <= working && m.role == First && h.alive(rank) == 0 && !h.state.Drained[rank] {
		h.warnf("rank %d has lost its last replica %v: the job will go back to its last backup once a replacement has started", rank, m.process)
	}
}

// lostRank notes that a rank has nobody left, and reports whether that is so.
func (h *Head) lostRank(m *member) bool {
	rank, r := m.process.Rank, &h.recovery
	if h.outcome != nil || h.alive(rank) > 0 || h.state.Drained[rank] || slices.Contains(r.losses, rank) {
		return false
	}
	if r.losses = append(r.losses, rank); len(r.losses) == 1 {
		r.lossAt = m.verdict.At
	}
	return true
}

// generation is that of all processes now, counted by the times that the job has
// gone back. The end of the program in a process counts unless it is just doing
// so.
func (h *Head) generation(m *member) (n uint32, counts bool) {
	if d := h.recovery.decides; d != nil {
		return d.Generation(), d.State(m.process) == recovery.Running
	}
	return 0, true
}

// expendable returns which of two processes, both the last ones of their ranks,
// the job can come back without: the higher one if it can without either, nil if
// it cannot.
func (h *Head) expendable(p, q *member) *member {
	if h.recovery.decides == nil || h.recovery.keeping || p.process.Rank == q.process.Rank {
		return nil
	}
	if p.process.Compare(q.process) < 0 {
		p, q = q, p
	}
	for _, m := range []*member{p, q} {
		if h.recovery.decides.Returns(m.process) {
			return m
		}
	}
	return nil
}

// sayReplaced tells of a joiner that has got its state.
func (h *Head) sayReplaced(m *member) {
	for _, r := range h.state.Replaced {
		if r.Process == m.process && r.Incarnation == m.incarnation {
			delete(h.recovery.refused, m.process)
			h.warnf("%v is replaced by another process on %s: it joined at safe point %d with the state of %v (%.1f MB), %.3f s after the death",
				m.process, m.node.Name, r.Number, r.Donor, float64(r.Bytes)/1e6, (r.At - h.diedAt(r)).Round(time.Millisecond).Seconds())
		}
	}
}

// diedAt is when the process was declared dead whose place another one has.
func (h *Head) diedAt(r decision.Replaced) (at time.Duration) {
	for _, v := range h.state.Verdicts {
		if v.Process == r.Process && v.Incarnation < r.Incarnation && !v.Withdrawn {
			at = v.At
		}
	}
	return at
}
