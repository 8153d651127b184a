package file

import (
	"fmt"

	"github.com/intrahpc/intra/internal/replica/outfile"
)

// View selects blocks of a file. The first block begins at Offset, each block has Block
// bytes, and the beginnings of blocks are Stride bytes apart. Block 0 selects all bytes
// from Offset on.
type View struct{ Offset, Block, Stride int64 }

// Part is the part of a file that a view selects. Offsets count only selected bytes.
type Part struct {
	f *File
	v View
}

// View returns the part of the file that v selects.
func (f *File) View(v View) Part { return Part{f, v} }

// pieces maps the bytes at an offset of the part to ranges of the file.
func (p Part) pieces(b []byte, off int64) []outfile.Piece {
	if p.v.Block == 0 || p.v.Block == p.v.Stride {
		return []outfile.Piece{{Offset: p.v.Offset + off, Data: b}}
	}
	var list []outfile.Piece
	for len(b) > 0 {
		block, within := off/p.v.Block, off%p.v.Block
		n := min(int64(len(b)), p.v.Block-within)
		list = append(list, outfile.Piece{Offset: p.v.Offset + block*p.v.Stride + within, Data: b[:n]})
		b, off = b[n:], off+n
	}
	return list
}

func (p Part) valid() error {
	if v := p.v; v.Offset < 0 || v.Block < 0 || v.Block > 0 && v.Stride < v.Block {
		return p.f.fault("view", fmt.Errorf("offset %d, block %d, stride %d: want an offset and a block of at least 0, and a stride of at least the block", v.Offset, v.Block, v.Stride))
	}
	return nil
}

// WriteAt is File.WriteAt of the part.
func (p Part) WriteAt(b []byte, off int64) (int, error) {
	if err := p.valid(); err != nil {
		return 0, err
	}
	if err := p.f.canWriteAt(off); err != nil {
		return 0, err
	}
	return p.f.writeAt(p.pieces(b, off))
}

// WriteAtAll is File.WriteAtAll of the part. Each rank may have a view of its own.
func (p Part) WriteAtAll(b []byte, off int64) error {
	err := p.valid()
	if err == nil {
		err = p.f.canWriteAt(off)
	}
	if p.f.closed || p.f.kind != created {
		return err // the error is the same on all ranks
	}
	if err = p.f.agree(err); err != nil {
		return err
	}
	return p.f.writeAtAll(p.pieces(b, off))
}
