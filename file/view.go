package file

import (
	"errors"
	"fmt"

	"github.com/intrahpc/intra/internal/replica/outfile"
)

// View selects blocks of a file. The first block begins at Offset, each block has Block
// bytes, and the beginnings of blocks are Stride bytes apart. If Block is 0, the view selects all
// bytes after Offset.
type View struct{ Offset, Block, Stride int64 }

// Part is the part of a file that a view selects. Offsets count only selected bytes.
type Part struct {
	f *File
	v View
}

// View returns the part of the file that v selects.
func (f *File) View(v View) Part { return Part{f, v} }

// blocks are n ranges of a file, of size bytes each, whose beginnings are stride bytes apart.
type blocks struct{ at, size, stride, n int64 }

// blocks returns the ranges of the file for n bytes at an offset of the part: what is left of
// the first block, whole blocks, and a beginning of the last one. Ranges may be empty.
func (v View) blocks(n, off int64) (list [3]blocks) {
	if v.Block == 0 || v.Block == v.Stride {
		list[0] = blocks{v.Offset + off, n, n, 1}
		return list
	}
	at := v.Offset + off/v.Block*v.Stride
	if within := off % v.Block; within > 0 {
		list[0] = blocks{at + within, min(n, v.Block-within), v.Stride, 1}
		n, at = n-list[0].size, at+v.Stride
	}
	list[1] = blocks{at, v.Block, v.Stride, n / v.Block}
	list[2] = blocks{at + n/v.Block*v.Stride, n % v.Block, v.Stride, 1}
	return list
}

// pieces maps the bytes at an offset of the part to ranges of the file.
func (p Part) pieces(b []byte, off int64) (list []outfile.Piece) {
	for _, r := range p.v.blocks(int64(len(b)), off) {
		for i := range r.n {
			if r.size > 0 {
				list = append(list, outfile.Piece{Offset: r.at + i*r.stride, Data: b[:r.size]})
				b = b[r.size:]
			}
		}
	}
	return list
}

// farthest bounds the end of any file, in bytes.
const farthest = 1 << 62

// valid returns an error if the part has no n bytes at an offset.
func (p Part) valid(op string, n int, off int64) error {
	v := p.v
	if v.Offset < 0 || v.Block < 0 || v.Block > 0 && v.Stride < v.Block {
		return p.f.fault("view", fmt.Errorf("offset %d, block %d, stride %d: want an offset and a block of at least 0, and a stride of at least the block", v.Offset, v.Block, v.Stride))
	}
	if off < 0 {
		return p.f.fault(op, fmt.Errorf("offset %d, want at least 0", off))
	}
	end := float64(off) + float64(n) // an estimate, since the exact value may overflow
	if v.Block > 0 {
		end *= float64(v.Stride) / float64(v.Block)
	}
	if end+float64(v.Offset) >= farthest {
		return p.f.fault(op, fmt.Errorf("%d bytes at offset %d of view %+v, want an end before 2^62", n, off, v))
	}
	return nil
}

// overlap reports whether the ranges a and b have a byte in common.
func (a blocks) overlap(b blocks) bool {
	if a.n == 0 || b.n == 0 || a.size == 0 || b.size == 0 || a.at >= b.end() || b.at >= a.end() {
		return false
	}
	if a.stride != b.stride && a.n > 1 && b.n > 1 {
		if a.n > b.n {
			a, b = b, a
		}
		for i := range a.n {
			if (blocks{a.at + i*a.stride, a.size, b.stride, 1}).overlap(b) {
				return true
			}
		}
		return false
	}
	if a.n == 1 {
		a.stride = b.stride
	}
	// Block i of a begins (i-j)*stride + a.at - b.at bytes after block j of b. Of all i-j for
	// which that is before the end of block j, the largest one decides.
	d := a.at - b.at
	k := min(floor(b.size-1-d, a.stride), a.n-1)
	return k >= 1-b.n && k*a.stride+d > -a.size
}

func (b blocks) end() int64 { return b.at + (b.n-1)*b.stride + b.size }

// floor returns the quotient, rounded down. b is positive.
func floor(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// WriteAt is File.WriteAt of the part.
func (p Part) WriteAt(b []byte, off int64) (int, error) {
	if err := p.canWrite(b); err != nil {
		return 0, err
	}
	if err := p.valid("write", len(b), off); err != nil {
		return 0, p.f.note(err)
	}
	return p.f.writeAt(p.pieces(b, off))
}

// canWrite begins a call that writes b at an offset. An error is the same on all ranks.
func (p Part) canWrite(b []byte) error {
	if err := p.f.enter("write", true, b); err != nil {
		return err
	}
	if p.f.kind == appended {
		return p.f.note(p.f.fault("write", errors.New("it grows by whole records: use Create, or Write and WriteAll")))
	}
	return nil
}

// WriteAtAll is File.WriteAtAll of the part. Each rank may have a view of its own. The ranks
// write different bytes.
func (p Part) WriteAtAll(b []byte, off int64) error {
	if err := p.canWrite(b); err != nil {
		return err
	}
	err := p.valid("write", len(b), off)
	if p.f.shared() {
		var all [][3]blocks
		if all, err = p.ranges(len(b), off, err); err == nil {
			return p.f.writeAtAll(p.pieces(b, off), p.f.disjoint(all))
		}
	}
	if err != nil {
		return p.f.note(err)
	}
	return p.f.writeAtAll(p.pieces(b, off), nil)
}
