package checked

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"reflect"
	"unsafe"

	"github.com/zeebo/xxh3"

	"github.com/intrahpc/intra/internal/replica/section"
	"github.com/intrahpc/intra/sched"
	"github.com/intrahpc/intra/update"
)

// agree ends the checks of the section, and compares what its tasks read and wrote with
// the other replicas. It waits for them, so that a difference is found in the section in
// which it occurs.
func (c *Section) agree() error {
	if err := c.leave(); err != nil {
		return err
	}
	mine, err := c.digest.encode(c)
	if err != nil {
		return err
	}
	replica := c.trial.run.Self.Replica
	self := binary.LittleEndian.AppendUint32(nil, uint32(replica))
	theirs, err := c.trial.engine.Once(func() ([]byte, error) { return append(self, mine...), nil })
	if err != nil {
		return err
	}
	if len(theirs) >= len(self) && bytes.Equal(theirs[len(self):], mine) {
		return nil
	}
	d := &section.Divergence{Section: c.s.Number, Task: -1, Replica: replica}
	var other digest
	if len(theirs) < len(self) || json.Unmarshal(theirs[len(self):], &other) != nil {
		d.Mine, d.Theirs = "the section was completed", "Once was called"
		return d
	}
	d.Peer = int(binary.LittleEndian.Uint32(theirs))
	c.digest.compare(c, &other, d)
	d.Theirs += c.before
	return d
}

// digest is the data of a section that the replicas compare.
type digest struct {
	Section uint64       `json:"section"`
	Tasks   []taskDigest `json:"tasks"`

	known map[span][]uint64 // hashes of regions at the entry, kept because tasks often read the same memory
	buf   []byte
}

type taskDigest struct {
	Name    string         `json:"name"`
	Regions []regionDigest `json:"regions"`
}

// regionDigest holds hashes of the blocks of a region: at the entry if the task reads the
// region, at the end if the task writes it.
type regionDigest struct {
	Elements int      `json:"elements"`
	Entry    []uint64 `json:"entry,omitempty"`
	Exit     []uint64 `json:"exit,omitempty"`
}

type span struct {
	start *byte
	bytes int
	of    reflect.Type
}

// digestBlocks is the number of blocks into which a region is divided to locate a
// difference.
const digestBlocks = 16

// newDigest returns a digest with the hashes of the entry state.
func newDigest(c *Section) *digest {
	d := &digest{Section: c.s.Number, known: make(map[span][]uint64)}
	for i := range c.s.Tasks {
		l := &c.s.Tasks[i]
		t := taskDigest{Name: l.Kernel.Name, Regions: make([]regionDigest, len(l.Regions))}
		for k := range l.Regions {
			r := &l.Regions[k]
			t.Regions[k].Elements = r.Len()
			if r.Mode != update.In && r.Mode != update.InOut {
				continue
			}
			at := span{unsafe.SliceData(r.Mem), len(r.Mem), r.Type()}
			h, ok := d.known[at]
			if !ok {
				h = d.hash(c, r)
				d.known[at] = h
			}
			t.Regions[k].Entry = h
		}
		d.Tasks = append(d.Tasks, t)
	}
	return d
}

// encode adds the hashes of the results.
func (d *digest) encode(c *Section) ([]byte, error) {
	for i := range c.s.Tasks {
		for k := range c.s.Tasks[i].Regions {
			if r := &c.s.Tasks[i].Regions[k]; r.Mode.Written() {
				d.Tasks[i].Regions[k].Exit = d.hash(c, r)
			}
		}
	}
	b, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("encode the digest of section %d: %w", d.Section, err)
	}
	return b, nil
}

// hash returns the hashes of the blocks of r, without padding.
func (d *digest) hash(c *Section, r *update.Region) []uint64 {
	lay := c.layouts.of(r.Type())
	all := make([]uint64, 0, digestBlocks)
	for lo, hi := range sched.Blocks(r.Len(), digestBlocks) {
		mem := r.Mem[lo*lay.size : hi*lay.size]
		if !lay.solid {
			d.buf = lay.values(d.buf[:0], mem)
			mem = d.buf
		}
		all = append(all, xxh3.Hash(mem))
	}
	return all
}

// compare writes the first difference between d and other into v. Inputs are compared
// before results.
func (d *digest) compare(c *Section, other *digest, v *section.Divergence) {
	if d.Section != other.Section || len(d.Tasks) != len(other.Tasks) {
		v.Mine, v.Theirs = fmt.Sprintf("section %d with %d tasks", d.Section, len(d.Tasks)), fmt.Sprintf("section %d with %d tasks", other.Section, len(other.Tasks))
		return
	}
	for i := range d.Tasks {
		a, b := &d.Tasks[i], &other.Tasks[i]
		if a.Name != b.Name || len(a.Regions) != len(b.Regions) {
			v.Task, v.Mine, v.Theirs = i, a.shape(), b.shape()
			return
		}
		for k := range a.Regions {
			if n, m := a.Regions[k].Elements, b.Regions[k].Elements; n != m {
				v.Task, v.Mine, v.Theirs = i, fmt.Sprintf("%s of %s has %d elements", clause(&c.s.Tasks[i].Regions[k]), a.Name, n), fmt.Sprint(m)
				return
			}
		}
	}
	for _, when := range []struct {
		text   string
		hashes func(*regionDigest) []uint64
	}{
		{"at the entry of the section", func(r *regionDigest) []uint64 { return r.Entry }},
		{"at its end", func(r *regionDigest) []uint64 { return r.Exit }},
	} {
		for i := range d.Tasks {
			for k := range d.Tasks[i].Regions {
				a, b := when.hashes(&d.Tasks[i].Regions[k]), when.hashes(&other.Tasks[i].Regions[k])
				if block := differentBlock(a, b); block >= 0 {
					v.Task = i
					v.Mine = fmt.Sprintf("%s, %s of %s, launched at %s, has %s with hash %016x", when.text, clause(&c.s.Tasks[i].Regions[k]),
						d.Tasks[i].Name, c.s.Tasks[i].At, elements(d.Tasks[i].Regions[k].Elements, block), a[block])
					v.Theirs = fmt.Sprintf("%016x", b[block]) + c.early(i, k, block)
					return
				}
			}
		}
	}
	v.Mine, v.Theirs = "the section was completed", "another message about it was sent" // the hashes are equal, but the messages are not
}

func (t *taskDigest) shape() string {
	return fmt.Sprintf("task %s with %d regions", t.Name, len(t.Regions))
}

// differentBlock returns the first index at which a and b differ, -1 if none.
func differentBlock(a, b []uint64) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

// elements describes the elements of a block.
func elements(n, block int) string {
	i := 0
	for lo, hi := range sched.Blocks(n, digestBlocks) {
		if i == block {
			if hi == lo+1 {
				return fmt.Sprintf("element %d", lo)
			}
			return fmt.Sprintf("elements %d to %d", lo, hi-1)
		}
		i++
	}
	return fmt.Sprintf("block %d", block)
}
