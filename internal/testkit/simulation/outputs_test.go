package simulation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/replica/outfile"
	"github.com/intrahpc/intra/internal/testkit/simdisk"
)

// In some jobs each rank writes an output file. All hosts share the file system, and each of
// them keeps written pages for a while. The final contents must be those of a job without
// failures.

// outputs are the output files of a job.
type outputs struct {
	disks   []*simdisk.Disk // by rank
	caches  []*cache
	writers uint64 // number of lives of processes that have opened a file
}

// cache holds the pages that a host has of the file of a rank.
type cache struct {
	simdisk.Host
	node detect.ID
	rank int
}

// output plans output files, and deaths between two steps of a call.
func (s *spec) output() {
	random := rand.New(rand.NewPCG(s.seed, 9))
	if s.outputs = random.IntN(3) == 0; !s.outputs {
		return
	}
	for range random.IntN(4) {
		rank := random.IntN(len(s.degrees))
		s.kills = append(s.kills, kill{process: job.Process{Rank: rank, Replica: random.IntN(s.degrees[rank])},
			anybody: random.IntN(2) == 0, point: "output", count: random.IntN(30)})
	}
}

func newOutputs(s *spec) (o outputs) {
	for rank := range s.degrees {
		if s.restart != nil && s.outputs {
			o.disks = append(o.disks, s.restart.outputs[rank].Clone())
		} else {
			o.disks = append(o.disks, simdisk.New())
		}
	}
	return o
}

// cache returns the pages that the host of a process has of the file of its rank.
func (o *outputs) cache(p *process) *cache {
	for _, c := range o.caches {
		if c.node == p.from.Node && c.rank == p.self.Rank {
			return c
		}
	}
	c := &cache{simdisk.Host{Disk: o.disks[p.self.Rank]}, p.from.Node, p.self.Rank}
	o.caches = append(o.caches, c)
	return c
}

// flush lets some hosts write a part of their pages to the server.
func (o *outputs) flush(random *rand.Rand) {
	for _, c := range o.caches {
		if random.IntN(8) == 0 {
			c.Flush(random.IntN(len(c.Dirty) + 1))
		}
	}
}

// lose drops the pages of a lost host, of which some have reached the server. It returns the
// number of those that have not.
func (o *outputs) lose(node detect.ID, random *rand.Rand) (n int) {
	for _, c := range o.caches {
		if c.node == node {
			c.Flush(random.IntN(len(c.Dirty) + 1))
			n += len(c.Dirty)
			c.Dirty = nil
		}
	}
	return n
}

// close writes the pages of a file to the server, as a host does when a process closes the file
// or ends.
func (o *outputs) close(p *process) {
	if !p.w.lost[p.from.Node] {
		o.cache(p).Fsync()
	}
}

// differ compares the files with those of a job without failures.
func (o *outputs) differ(plain *outputs) error {
	for rank, d := range o.disks {
		want := plain.disks[rank].Published
		if !bytes.Equal(d.Published, want) {
			return fmt.Errorf("the file of rank %d is %v, want %v", rank, d.Published, want)
		}
		if got := d.Files[d.Version]; !bytes.Equal(got, want) {
			return fmt.Errorf("the file of rank %d is durable up to %v, want %v", rank, got, want)
		}
	}
	return nil
}

// output is the output file of the rank in one life of its program.
type output struct {
	p     *process
	m     *outfile.Machine
	state [3]uint64 // registered: the fields of outfile.State
	back  bool      // the file may be longer than at the safe point at which this life begins
}

// openOutput opens the file. In a restored process it continues at the saved position.
func (g *program) openOutput() {
	p := g.p
	o := &g.output
	p.w.outputs.writers++
	o.p = p
	cut := uint64(0)
	if p.startAt != nil {
		cut = p.startAt.point
	}
	o.m = outfile.NewAt(p.w.outputs.writers, outfile.State{Version: int(o.state[0]), End: int64(o.state[1]), Unsynced: int64(o.state[2])}, cut)
	o.back = g.restored && !p.joined
}

// resume cuts the file off after a rollback.
func (o *output) resume() error {
	if !o.back {
		return nil
	}
	o.p.w.seen["an output file is cut off"]++
	return o.call(outfile.Call{Kind: outfile.Back, Size: o.m.End()})
}

// write makes the calls of a pass.
func (g *program) write(pass uint64) error {
	o, s := &g.output, g.p.w.spec
	if o.m == nil {
		return nil
	}
	plan := rand.New(rand.NewPCG(s.plan+uint64(g.p.self.Rank), pass+2000))
	for i := range plan.IntN(4) {
		if plan.IntN(6) == 0 {
			if err := o.call(outfile.Call{Kind: outfile.Sync}); err != nil {
				return err
			}
			continue
		}
		off := o.m.End()
		if plan.IntN(2) == 0 {
			off = plan.Int64N(40)
		}
		data := make([]byte, 1+plan.IntN(12))
		for k := range data {
			data[k] = byte(mix(g.meta[1], pass<<16+uint64(i<<8+k)) >> 32)
		}
		if off < o.m.Before() { // a safe point needs the bytes
			g.p.w.seen["an output file is copied"]++
			if err := o.call(outfile.Call{Kind: outfile.Fork, Size: o.m.End()}); err != nil {
				return err
			}
		}
		if err := o.call(outfile.Call{Kind: outfile.Write, Pieces: []outfile.Piece{{Offset: off, Data: data}}}); err != nil {
			return err
		}
	}
	return nil
}

// publish makes the file durable, and gives it its name.
func (o *output) publish() error {
	if o.m == nil {
		return nil
	}
	if err := o.call(outfile.Call{Kind: outfile.Sync}); err != nil {
		return err
	}
	return o.call(outfile.Call{Kind: outfile.Publish, Size: o.m.End()})
}

// keeps reports whether replicas keep what they have written, because they may be on several
// hosts.
func (o *output) keeps() bool {
	s := o.p.w.spec
	return s.degrees[o.p.self.Rank] > 1 && (s.hosts > 1 || s.moves)
}

// call carries out a call in one replica of the rank.
func (o *output) call(c outfile.Call) error {
	b, err := o.p.callOnce(func() []byte {
		acts := o.m.Carry(c, o.keeps())
		o.act(acts)
		b, err := json.Marshal(o.m.Result(acts, len(acts)))
		if err != nil {
			panic(err)
		}
		return b
	})
	if err != nil {
		return err
	}
	var r outfile.Outcome
	if err := json.Unmarshal(b, &r); err != nil {
		return err
	}
	o.m.Carried(c, r, o.keeps())
	at := o.m.State()
	o.state = [3]uint64{uint64(at.Version), uint64(at.End), uint64(at.Unsynced)}
	return nil
}

// act carries out actions. Processes and hosts may die between them.
func (o *output) act(acts []outfile.Action) {
	w := o.p.w
	for _, a := range acts {
		o.p.pause()
		o.reach()
		w.outputs.flush(w.random)
		h, version := w.outputs.cache(o.p), o.m.Version()
		switch a.Kind {
		case outfile.WriteAt:
			h.Write(version, a.Piece.Offset, a.Piece.Data)
		case outfile.Fsync:
			h.Fsync()
		case outfile.Truncate:
			if n := int64(len(h.View(version))); a.Whole && n < a.Size {
				w.fail("%v finds %d bytes in its file, want %d that are durable", o.p, n, a.Size)
			}
			h.Truncate(version, a.Size)
		case outfile.Copy:
			h.Copy(version, a.Version, a.Size)
		case outfile.Rename:
			h.Publish(a.Version)
		}
	}
	o.p.pause()
	o.reach()
}

// reach is a point of death, often together with the host.
func (o *output) reach() {
	if w := o.p.w; !o.p.at("output") {
		if w.random.IntN(2) == 0 {
			w.later = append(w.later, timed{w.steps, func() { w.strikeHost(o.p.from.Node) }})
		}
		panic(errKilled)
	}
}

// settle makes the file durable before the state is copied.
func (o *output) settle() {
	if o.m != nil {
		o.act(o.m.Settle())
		o.m.Settled()
	}
}
