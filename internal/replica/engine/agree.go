package engine

import (
	"fmt"

	"github.com/intrahpc/intra/internal/base/arena"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/replica/direct"
)

// agree agrees with the other replicas on how s is completed.
func (d *stores) agree(s *Section, c candidates) direct.Way {
	known := s.decision
	if known.stored > 0 && !known.elsewhere {
		for r, link := range d.peers {
			if link != nil && d.claims.Refused(r, known.stored-1) {
				d.differ(s)
			}
		}
	}
	able := d.met(s)
	lies := able && !known.elsewhere && d.prepare(s)
	c.store, c.send = lies, !lies || !d.setup.Direct
	mine := known.propose(c)
	switch {
	case mine == direct.Send && able && !lies:
		mine = direct.SendOnly
	case mine == direct.Replicate && lies && d.verifier.samples():
		mine = direct.Store // direct.Replicate would compare every task, which takes longer
	}
	way, ok := direct.Agree(agreedWords{d.arena}, direct.Moment{Generation: d.generation, Section: s.Number}, mine)
	switch {
	// If the agreement is gone, the peers are too far ahead to store into arrays. With the
	// results that they have sent, this replica catches up.
	case !ok && !d.machine.Early() && (mine == direct.Replicate || known.sending.rejected) && !d.verifier.samples():
		return direct.Replicate
	case !ok:
		return direct.Send
	case way == direct.Store && lies:
		known.stored = s.Number + 1
	case way == direct.Store:
		d.claims.Refuse(s.Number)
		if able {
			d.differ(s)
		}
		return direct.Send
	case way == direct.SendOnly:
		if lies {
			d.differ(s)
		}
		return direct.Send
	}
	return way
}

// agreeToSend agrees with the other replicas on whether to share s by sending results.
// s.way is the proposal of this replica. Nothing can be stored here, so an agreement to
// store means to send.
func (d *stores) agreeToSend(s *Section) direct.Way {
	way, ok := direct.Agree(agreedWords{d.arena}, direct.Moment{Generation: d.generation, Section: s.Number}, s.way)
	if !ok || way == direct.Store || way == direct.SendOnly {
		return direct.Send
	}
	return way
}

// differ records that only some replicas have arrays into which the results of s can be
// stored. All replicas add the same note.
func (d *stores) differ(s *Section) {
	s.decision.elsewhere = true
	d.notes.add("%s: results of %s are sent, not stored: only on some replicas are the arrays that it writes made by intra.Alloc",
		s.At, s.Tasks[0].Kernel.Name)
}

// met reports whether this replica has live peers and all of them share memory with it. It
// also returns false if s has no tasks or too many. If met returns false, nothing can be
// stored.
func (d *stores) met(s *Section) bool {
	switch {
	case len(s.Tasks) == 0:
		return false
	case len(s.Tasks) > direct.MaxTasks:
		return d.unable("%s: this section has more than %d tasks", s.At, direct.MaxTasks)
	}
	others := false
	for r, link := range d.peers {
		if link == nil {
			continue
		}
		life := arena.Life{Replica: r, Incarnation: d.incarnations[job.Process{Rank: d.setup.Self.Rank, Replica: r}]}
		if old := d.areas[r]; old == nil || old.Life != life {
			area := d.arena.Find(life)
			if area == nil {
				return d.unable("a replica shares no memory with the others")
			}
			d.drop(r)
			d.areas[r], d.ended[r] = area, false
		}
		others = true
	}
	if !others { // no peer is left that could need the areas of dead replicas
		for r, ended := range d.ended {
			if ended {
				d.drop(r)
			}
		}
	}
	return others
}

// prepare records the positions, in the area of this replica, of the memory that the tasks
// of s write. It reports whether all of that memory is in the area, so that peers can
// store into it.
func (d *stores) prepare(s *Section) bool {
	d.places = d.places[:0]
	d.runsAlong = s.bytes >= d.large || s.bytes >= alongLeast && s.decision.slowly(s.bytes)
	own := d.areas[d.setup.Self.Replica]
	for i := range s.Tasks {
		s.Tasks[i].place = len(d.places)
		for g := range written(&s.Tasks[i]) {
			at, ok := d.arena.Place(own, g.Mem, &d.hints[(len(d.places)-s.Tasks[i].place)%len(d.hints)])
			if !ok {
				return d.unable("%s: %v(%s) of %s is not part of an array that intra.Alloc has made", s.At, g.Mode, g.Name, s.Tasks[i].Kernel.Name)
			}
			d.places = append(d.places, uint64(at))
		}
	}
	if len(d.places) > arena.Places {
		return d.unable("%s: the tasks of this section write more than %d arrays", s.At, arena.Places)
	}
	return true
}

// unable records why a section cannot be completed by stores. It keeps only the first
// reason, and none after a section was completed by stores. It always returns false.
func (d *stores) unable(format string, args ...any) bool {
	if !d.any && d.why == "" {
		d.why = fmt.Sprintf(format, args...)
	}
	return false
}

// returned adds a note after the program has returned, if -direct was given and nothing
// was stored.
func (d *stores) returned() {
	switch {
	case !d.setup.Direct || d.any || d.stats.total.Sections == 0:
	case d.why != "":
		d.notes.add("-direct has stored nothing: %s", d.why)
	default:
		d.notes.add("-direct has stored nothing: there was no section with the adaptive schedule that it paid to share, or all replicas but one were gone")
	}
}
