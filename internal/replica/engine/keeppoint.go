package engine

import (
	"errors"
	"fmt"
	"math"
	"time"
	"unsafe"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/replica/kept"
)

// safePoint is called at each safe point that no earlier run has passed, after everything
// else. At a settled point it makes an image, from which this replica can run again.
func (k *keeper) safePoint(point uint64) error {
	k.mu.Lock()
	k.sections = 0
	err := k.settle(point)
	k.mu.Unlock()
	return k.outcome(err)
}

// enterCut makes all memory current on both replicas, in a cut. If the cut is cancelled
// meanwhile, that may have no effect. The caller holds the lock.
func (k *keeper) enterCut(number uint64, yield func(func())) error {
	if k == nil {
		return nil
	}
	k.sections = 0
	k.machine.Cut(number)
	err := k.done(yield)
	if errors.Is(err, errBehind) {
		return k.goBack()
	}
	return err
}

// settle performs the steps of a safe point. The caller holds the lock.
func (k *keeper) settle(point uint64) error {
	r := k.recovering
	p := kept.Point{Number: point}
	if k.machine.Due(point) {
		if r.program == nil {
			return errBack
		}
		place, err := r.messages.Load().Runs().Settle()
		if err != nil {
			return fmt.Errorf("safe point: %w", err)
		}
		im, err := r.program.Image()
		if err != nil {
			return fmt.Errorf("safe point: %w", err)
		}
		answer, err := r.ask(job.Reply{Kind: job.ReplySettled, Generation: r.member.Generation(), Number: point}, job.OrderSettled)
		if err != nil {
			return err
		}
		k.place = &settled{number: point, place: place, output: answer.Output, image: im, use: newUse(),
			files: r.program.keepFiles(), calls: k.dropped + len(k.results), entered: k.entries.end(), made: k.now()}
		k.once.kept = &k.results
		p.Registered, p.Proposal = registered(im), k.proposal(point)
	}
	k.machine.SafePoint(p)
	err := k.done(k.yield)
	if k.place != nil && err == nil { // the machine knows now what is current on both replicas
		k.pins.prune(k.machine.Current)
	}
	if k.place = nil; err == nil && len(k.points) == 0 && k.once.kept != nil {
		k.forgetAll()
	}
	return err
}

// forgetAll records that this process does not run again alone.
func (k *keeper) forgetAll() {
	k.messages.Load().Runs().End()
	k.once.kept, k.results, k.dropped = nil, nil, k.dropped+len(k.results)
	k.entries.forget(k.entries.end())
	k.spare = nil
}

// registered returns the memory of the variables of an image that is not a clone.
func registered(im *checkpoint.Image) (all []kept.Span) {
	for _, chunks := range im.Variables() {
		s := kept.Span{}
		if n := len(chunks); n > 0 {
			s = kept.Span{Lo: spanOf(chunks[0]).Lo, Hi: spanOf(chunks[n-1]).Hi}
		}
		all = append(all, s)
	}
	return all
}

// proposal returns a function that proposes the next interval but one. It is about as long as
// the requested age of an image, or as the link needs for the parts of the image before.
func (k *keeper) proposal(point uint64) func() kept.Proposal {
	begun := k.now()
	return func() kept.Proposal {
		now, passed := k.now(), max(point-k.at, 1)
		points := uint64(firstInterval)
		if each := (begun - k.since) / time.Duration(passed); k.at > 0 && each > 0 {
			points = min(max(uint64(k.setup.Lag/each), 1), 8*passed)
			if late := uint64((now - begun) / each); late > 0 { // this replica has waited for these parts
				k.least = passed + late
			} else {
				k.least -= (k.least + 7) / 8
			}
			points = max(points, k.least)
		}
		n := uint64(k.messages.Load().Runs().Bytes()) + uint64(len(k.entries.all))*uint64(unsafe.Sizeof(entry{}))
		for _, result := range k.results {
			n += uint64(len(result))
		}
		if n > journalBytes {
			points = min(points, max(passed*journalBytes/n, 1))
		}
		k.at, k.since = point, now
		return kept.Proposal{Types: []uint64{keptType}, Points: points}
	}
}

// copyImage makes the image of a settled point, without the parts that this replica lacks. It
// holds the lock, because frames that arrive later may have to fill these parts.
func (k *keeper) copyImage(point uint64, lacks []kept.Part) error {
	if k.place == nil || k.place.number != point {
		return fmt.Errorf("an image of safe point %d was not prepared", point)
	}
	from := k.place.image
	to := from.Blank(k.spare)
	for v := range from.Variables() {
		lo := uint64(0)
		for ; len(lacks) > 0 && lacks[0].Variable == v; lacks = lacks[1:] {
			to.Copy(from, v, lo, lacks[0].Lo)
			lo = lacks[0].Hi
		}
		to.Copy(from, v, lo, math.MaxUint64)
	}
	k.place.image, k.spare = to, nil
	k.points[point] = k.place
	k.stats.total.Images++
	return nil
}

// discard forgets a settled point, and everything that only a run from there would need.
func (k *keeper) discard(point uint64) {
	s := k.points[point]
	if s == nil {
		return
	}
	delete(k.points, point)
	if s.use.Load() == 0 {
		k.spare = s.image
	}
	if k.recovering.second.back != nil { // the journal is needed for the next run
		return
	}
	oldest := k.place
	for _, o := range k.points {
		if oldest == nil || o.number < oldest.number {
			oldest = o
		}
	}
	if oldest == nil {
		k.forgetAll()
		return
	}
	k.messages.Load().Runs().Forget(oldest.place)
	k.results = append([][]byte(nil), k.results[oldest.calls-k.dropped:]...)
	k.dropped = oldest.calls
	k.entries.forget(oldest.entered)
}

// goBack ends the run of the program. The next run begins at the oldest image. This process
// runs alone until it reaches the point where it stopped. The caller holds the lock.
func (k *keeper) goBack() error {
	r := k.recovering
	if r.program == nil {
		return errBack
	}
	var from *settled
	for {
		step, err := k.machine.NextReturn()
		if err != nil {
			return err
		}
		if step.Kind == kept.Load {
			from = k.points[step.Point]
		}
		if step.Kind == kept.Again {
			break
		}
	}
	if err := r.messages.Load().Runs().Retire(errAlone); err != nil {
		return err
	}
	from.once = k.results[from.calls-k.dropped:]
	r.second.back = &secondRun{from: from, repetition: repetition{entries: k.entries.from(from.entered)}, to: r.program.points.Load(), sections: k.sections, begun: r.now(), detection: k.detection}
	k.perform()
	k.once.kept, k.results, k.spare, k.pins = nil, nil, nil, nil
	k.entries = entries{}
	clear(k.points)
	k.open, k.current, k.entered = nil, nil, false
	return errAlone
}
