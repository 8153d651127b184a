package engine

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/intrahpc/intra/internal/base/affinity"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/replica/section"
	"github.com/intrahpc/intra/internal/replica/verify"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/update"
)

// ErrCorrupt means that the replicas of a rank computed different results, or sent
// different messages, and that the right ones cannot be determined or restored.
var ErrCorrupt = errors.New("silent corruption")

// verifier makes all replicas of the rank run the sampled tasks, and compares the
// results before the replicas leave the section.
type verifier struct {
	*sharing
	machine *verify.Machine
	states  *verify.States
	every   uint64 // states are compared at safe points that are multiples of it; 0: at none
	sampler verify.Sampler
	backups bool // the job takes backups that it can roll back to
	entire  bool // all tasks are sampled, because no backup is complete yet; changes only in cuts
	horizon verify.Horizon
	passed  atomic.Pointer[Program] // the run of the program; nil before the first one
	counts  job.Corruption
	tasks   []int         // sampled tasks of the open section
	begun   int           // number of them that have begun
	sampled []sampled     // the state of each of them
	due     []int         // indexes of the sampled tasks that have to run again
	erred   time.Duration // when data of this process was first changed on request; 0: never
}

// sampled is the state of a verified task.
type sampled struct {
	before  []update.Snapshot // regions that it reads and writes, before it runs
	results [][]byte          // results of its runs except the last
	run     verify.Run        // its last run
	ended   time.Duration     // when its first run ended
	half    bool              // one of the two events that both counts has occurred
	buf     []byte
}

func newVerifier(h *sharing) *verifier {
	at := h.setup.Verify
	if at == nil {
		return nil
	}
	return &verifier{sharing: h, machine: verify.New(h.setup.Self.Replica, len(h.peers)),
		states: verify.NewStates(h.setup.Self.Replica, len(h.peers)), every: at.State,
		sampler: verify.Sampler{Share: at.Share, Seed: at.Seed, Replicas: len(h.peers)}, backups: at.Backups, entire: at.Backups && at.Samples()}
}

// resumeAt sets the number of deaths in the rank. All peers count as dead until they are
// admitted.
func (v *verifier) resumeAt(deaths uint64) {
	v.machine = verify.NewAt(v.setup.Self.Replica, len(v.peers), deaths)
	v.states = verify.NewStates(v.setup.Self.Replica, len(v.peers))
	for p := range v.peers {
		v.states.Dead(p)
	}
	if d := v.counts.Dispute; d != nil {
		if v.counts.Dispute = nil; d.Differs() {
			v.counts.Disputed = append(v.counts.Disputed, d.Generation)
		}
	}
}

// admit marks a peer live, at a cut.
func (v *verifier) admit(p int) {
	v.machine.Alive(p)
	v.states.Alive(p)
}

// dead marks a peer dead.
func (v *verifier) dead(p int) {
	v.perform(v.machine.Dead(p))
	v.states.Dead(p)
}

// enter begins s, which the section machine has entered. In that machine it marks the results of
// the sampled tasks as results that peers have and will not send.
func (v *verifier) enter(s *Section, signature uint64) {
	v.machine.Enter(s.Number, signature, v.tasks)
	for _, t := range v.tasks {
		for p := range v.peers {
			if p != v.setup.Self.Replica {
				v.sharing.machine.Refused(section.Update{Peer: p, Section: s.Number, Task: t})
			}
		}
	}
}

// before is called before the body of a task, without the lock.
func (v *verifier) before(s *Section, t int) {
	if i := v.index(t); i >= 0 {
		v.sampled[i].keepEntry(s.Tasks[t].Regions)
	}
}

// after is called after the body of a task, without the lock.
func (v *verifier) after(s *Section, t int) {
	if i := v.index(t); i >= 0 {
		x := &v.sampled[i]
		x.run, x.ended = v.hashed(x, s.Tasks[t].Regions), v.now()
	}
}

// ran records the first run of a task.
func (v *verifier) ran(t int) {
	if i := v.index(t); i >= 0 {
		v.perform(v.machine.Ran(i, 0, v.sampled[i].run))
	}
}

// complete compares the results of the sampled tasks of s with those of the other
// replicas. The results of all tasks of s have arrived.
func (v *verifier) complete(s *Section) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.perform(v.machine.Complete())
	for {
		seen := v.changes.Load()
		r, err := v.machine.Done()
		switch {
		case v.err != nil:
			return v.err
		case err != nil:
			return v.refused(err)
		case r != nil:
			err := v.settle(s, r, v.yield)
			v.machine.Leave()
			return err
		case len(v.due) > 0:
			i := v.due[0]
			v.due = v.due[1:]
			if err := v.sendSums(true); err != nil {
				return err
			}
			x := &v.sampled[i]
			x.keepResult(s.Tasks[v.tasks[i]].Regions)
			entry := v.again(s, i, v.yield)
			v.perform(v.machine.Ran(i, entry, x.run))
		default:
			from := v.now()
			v.unlocked(func() {
				if !v.poller.LookFor(v.runCtx, atMostApart, func() bool { return v.changedSince(seen) }) {
					err = v.awaitChange(seen, 0)
				}
			})
			v.waited(s, v.tasks[0], from)
			if err != nil {
				return err
			}
		}
	}
}

// sendSums sends the hashes of the messages that this process has received, before a
// majority judges its results. This process may be killed for the consequences of a wrong
// message, and the other replicas need the hashes to find that message. promised means that this
// goroutine has promised to poll. It does not poll during this wait, so it withdraws the promise
// meanwhile; otherwise no goroutine would serve the links.
func (v *verifier) sendSums(promised bool) (err error) {
	if v.setup.Degrees[v.setup.Self.Rank] > 2 {
		v.yield(func() {
			if promised {
				v.poller.Attend(false)
				defer v.poller.Attend(true)
			}
			err = v.messages.Load().SendSumsNow(v.runCtx)
		})
	}
	return err
}

// atMostApart is the usual limit of the time between replicas that reach the end of a
// section whose tasks they all run.
const atMostApart = 400 * time.Microsecond

// refused converts the reason why results cannot be verified to an error of the engine.
func (v *verifier) refused(err error) error {
	var entry *verify.EntryDiffers
	var other *verify.Mismatch
	switch {
	case errors.As(err, &entry):
		return &section.Divergence{Section: entry.Section, Task: entry.Task, Replica: entry.Replica, Peer: entry.Peer,
			Mine: fmt.Sprintf("what it reads has hash %016x at the entry", entry.Mine), Theirs: fmt.Sprintf("%016x", entry.Theirs)}
	case errors.As(err, &other):
		return &section.Divergence{Section: other.Section, Task: -1, Replica: v.setup.Self.Replica, Peer: other.Peer,
			Mine: "the section was completed", Theirs: "one with other tasks, shapes or small arguments"}
	}
	v.counts.Undecided = !v.backups // with backups the job records a dispute and rolls back instead
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}

// settle gives the sampled tasks of s their right results.
func (v *verifier) settle(s *Section, r *verify.Result, yield func(func())) error {
	if others := slices.ContainsFunc(v.peers, func(l transport.Link) bool { return l != nil }); others && len(r.Faulty) == 0 {
		v.horizon.Compared(len(v.tasks))
	}
	if v.machine.Counts(r) {
		v.counts.Compared += int64(len(v.tasks))
		v.counts.Differed += int64(len(r.Differed))
		v.counts.Repaired += int64(len(r.Differed))
	}
	var lost *int
	for i, right := range r.Right {
		if !v.restore(s, i, right, yield) {
			lost = &i
			break
		}
	}
	for _, g := range r.Faulty {
		v.blame(s, g, lost != nil && g.Replica == v.setup.Self.Replica)
	}
	if len(r.Faulty) > 0 {
		yield(func() { v.head.Tell(v.Snapshot) })
	}
	if lost == nil {
		return nil
	}
	// The head knows that this process cannot get the right result, and kills it.
	if v.machine.Counts(r) {
		v.counts.Repaired--
	}
	yield(func() { <-v.ctx.Done() })
	return v.ended(v.ctx.Err())
}

// tries bounds how often a task runs again if it has not produced the right result.
const tries = 5

// restore restores the right result of a sampled task from one of its runs here. It
// reports whether one of the runs produced it.
func (v *verifier) restore(s *Section, i int, right uint64, yield func(func())) bool {
	x, runs := &v.sampled[i], v.machine.Runs(i)
	if x.run.Hash == right {
		return true
	}
	for k := range runs[:len(runs)-1] {
		if runs[k].Hash == right {
			return update.Apply(s.Tasks[v.tasks[i]].Regions, x.results[k]) == nil
		}
	}
	for range tries {
		if v.again(s, i, yield); x.run.Hash == right {
			return true
		}
	}
	return false
}

// again runs a sampled task again from its entry state, on another core if there is one.
// It returns the hash of that state.
func (v *verifier) again(s *Section, i int, yield func(func())) (entry uint64) {
	x, t := &v.sampled[i], v.tasks[i]
	var spent time.Duration
	yield(func() {
		entry = x.restoreEntry(v.sampler.Seed, s.Tasks[t].Regions)
		from := v.now()
		affinity.Elsewhere(x.run.Core, func() {
			v.rerun.runTask(s, &s.Tasks[t], s.Tasks[t].Body)
			v.flip(s, t)
			x.run = v.hashed(x, s.Tasks[t].Regions)
		})
		spent = v.now() - from
		v.faults.At(job.KillTask)
	})
	v.stats.ran(&s.Tasks[t], spent, nil)
	return entry
}

// blame records that a process of this rank has computed a wrong result.
func (v *verifier) blame(s *Section, g verify.Faulty, lost bool) {
	p := job.Process{Rank: v.setup.Self.Rank, Replica: g.Replica}
	incarnation, lives := v.incarnations[p]
	c := job.Blame{Process: p, Incarnation: incarnation, Core: g.Core, Section: s.Number, Task: v.tasks[g.Index],
		Kernel: s.Tasks[v.tasks[g.Index]].Kernel.Name, Lost: lost, Generation: v.sharing.generation, Sure: v.horizon.Sure(), Whole: v.entire}
	if !lives {
		return
	}
	from := v.sampled[g.Index].ended
	if p == v.setup.Self && v.erred > 0 {
		from = v.erred
	}
	c.Seconds = v.since(from)
	v.add(c)
}

// add records that a process is to blame, and reports whether this is new. Each process is
// recorded once. A second record counts as new only if it adds that the process is lost.
func (v *verifier) add(c job.Blame) (isNew bool) {
	at := slices.IndexFunc(v.counts.Blames, func(o job.Blame) bool { return o.Process == c.Process && o.Incarnation == c.Incarnation })
	switch {
	case at < 0:
		v.counts.Blames = append(v.counts.Blames, c)
		return true
	case c.Lost && !v.counts.Blames[at].Lost:
		v.counts.Blames[at].Lost = true
		return true
	}
	return false
}

// perform carries out the actions of the protocol. The caller holds the lock.
func (v *verifier) perform(acts []verify.Action) {
	for _, a := range acts {
		switch a.Kind {
		case verify.Say:
			v.say(a.Peer, a.Word)
		case verify.Rerun:
			v.due = append(v.due, a.Index)
		}
	}
}

// hashed returns the hash of the results of a run that has just ended, and the core on
// which it ran.
func (v *verifier) hashed(x *sampled, regions []update.Region) verify.Run {
	sum := v.sampler.Seed
	for i := range regions {
		if r := &regions[i]; r.Mode.Written() {
			sum = x.hash(sum, r)
		}
	}
	return verify.Run{Hash: sum, Core: affinity.Processor()}
}

// hash adds the values of a region to a hash.
func (x *sampled) hash(sum uint64, r *update.Region) uint64 {
	mem := update.Values(r.Type(), r.Mem, x.buf)
	if update.Padded(r.Type()) {
		x.buf = mem
	}
	return xxh3.HashSeed(mem, sum)
}

// keepEntry copies the regions that the task will change and that its result depends on.
func (x *sampled) keepEntry(regions []update.Region) {
	x.results, x.before = x.results[:0], x.before[:0]
	for i := range regions {
		if m := regions[i].Mode; m == update.InOut || m == update.Reduce {
			n := len(x.before)
			x.before = slices.Grow(x.before, 1)[:n+1] // with the buffer of an earlier section
			x.before[n].Take(regions[i].Mem)
		}
	}
}

// restoreEntry restores the regions that keepEntry has copied. It returns a hash of all
// memory that the task reads.
func (x *sampled) restoreEntry(seed uint64, regions []update.Region) uint64 {
	for i := range x.before {
		x.before[i].Restore()
	}
	sum := seed
	for i := range regions {
		if m := regions[i].Mode; m == update.In || m == update.InOut || m == update.Reduce {
			sum = x.hash(sum, &regions[i])
		}
	}
	return sum
}

// keepResult copies the results that the task has written.
func (x *sampled) keepResult(regions []update.Region) {
	x.results = append(x.results, slices.Concat(update.Payload(nil, regions)...))
}
