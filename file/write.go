package file

import (
	"errors"
	"fmt"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/replica/outfile"
)

// Write appends b as one record to a file opened by Append. In a created file it writes b
// after the last Write. The file belongs to one rank.
func (f *File) Write(b []byte) (int, error) {
	if err := f.enter("write", true, b); err != nil {
		return 0, err
	}
	if f.shared() {
		return 0, f.note(f.fault("write", ErrUnordered))
	}
	if f.kind == created {
		n, err := f.writeAt([]outfile.Piece{{Offset: f.pos, Data: b}})
		f.pos += int64(n)
		return n, err
	}
	end := f.m.End()
	err := f.call(outfile.Call{Kind: outfile.Write, Pieces: []outfile.Piece{{Offset: end, Data: b}}})
	if err != nil {
		return 0, f.note(f.takeBack(err, end))
	}
	return len(b), nil
}

// takeBack truncates a file after its last whole record if an append has failed.
func (f *File) takeBack(err error, end int64) error {
	if ends(err) {
		return err
	}
	if e := f.lead(outfile.Call{Kind: outfile.Back, Size: end}); e != nil {
		if ends(e) {
			return e
		}
		return fmt.Errorf("%w; and what was written of the record stays in the file: %w", err, e)
	}
	return err
}

// WriteAll appends the records of all ranks in rank order. If one of them cannot be
// written, none is, and all ranks get the error.
func (f *File) WriteAll(b []byte) error {
	if err := f.enter("write", true, b); err != nil {
		return err
	}
	if f.kind == created {
		return f.note(f.fault("write", errors.New("it was not opened by Append: use WriteAtAll")))
	}
	if !f.shared() {
		_, err := f.Write(b)
		return err
	}
	lengths := make([]int64, f.c.Size())
	if err := comm.Allgather(f.c, []int64{int64(len(b))}, lengths); err != nil {
		return ended{fmt.Errorf("file %s: %w", f.name, err)}
	}
	from := f.m.End()
	at, to := from, from
	for rank, n := range lengths {
		if rank < f.c.Rank() {
			at += n
		}
		to += n
	}
	err := f.agree(f.call(outfile.Call{Kind: outfile.Write, Pieces: []outfile.Piece{{Offset: at, Data: b}}}))
	if err != nil {
		return f.note(f.takeBack(err, from))
	}
	f.m.Reach(to)
	return nil
}

// WriteAt writes b at an offset of a created file. Other ranks of the file need not take
// part.
func (f *File) WriteAt(b []byte, off int64) (int, error) { return f.View(View{}).WriteAt(b, off) }

// WriteAtAll is WriteAt by all ranks of the file. It returns when all ranks have written,
// with the error of the first rank that has one.
func (f *File) WriteAtAll(b []byte, off int64) error { return f.View(View{}).WriteAtAll(b, off) }

// ranges exchanges what all ranks write in one call. It returns an error on all ranks if one of
// them has an error.
func (p Part) ranges(n int, off int64, err error) ([][3]blocks, error) {
	f := p.f
	if err != nil {
		n = -1
	}
	const each = 5
	all := make([]int64, each*f.c.Size())
	if e := comm.Allgather(f.c, []int64{p.v.Offset, p.v.Block, p.v.Stride, int64(n), off}, all); e != nil {
		return nil, ended{fmt.Errorf("file %s: %w", f.name, e)}
	}
	list := make([][3]blocks, f.c.Size())
	for rank := range list {
		v := all[each*rank:]
		if v[3] < 0 {
			return nil, f.agree(err)
		}
		list[rank] = View{v[0], v[1], v[2]}.blocks(v[3], v[4])
	}
	return list, nil
}

// disjoint returns an error if another rank writes some of the bytes of this one.
func (f *File) disjoint(all [][3]blocks) error {
	mine := &all[f.c.Rank()]
	for rank := range all {
		if rank != f.c.Rank() && overlap(mine, &all[rank]) {
			return f.fault("write", fmt.Errorf("it has bytes that rank %d writes in the same call: ranks write different bytes", rank))
		}
	}
	return nil
}

func overlap(a, b *[3]blocks) bool {
	for _, x := range a {
		for _, y := range b {
			if x.overlap(y) {
				return true
			}
		}
	}
	return false
}

// writeAt writes pieces that are not collective, and returns the number of bytes written.
func (f *File) writeAt(pieces []outfile.Piece) (int, error) {
	n, low := extent(pieces)
	if n == 0 {
		return 0, nil
	}
	if low < f.m.Before() {
		if f.shared() {
			return 0, f.note(f.fault("write", ErrOverwrite))
		}
		if err := f.fork(f.m.End()); err != nil {
			return 0, f.note(err)
		}
	}
	if err := f.call(outfile.Call{Kind: outfile.Write, Pieces: pieces}); err != nil {
		return 0, f.note(err)
	}
	return n, nil
}

// writeAtAll writes pieces of all ranks. A rank with an error writes none.
func (f *File) writeAtAll(pieces []outfile.Piece, err error) error {
	if !f.shared() {
		_, err := f.writeAt(pieces)
		return err
	}
	if err != nil {
		pieces = nil
	}
	n, low := extent(pieces)
	if f.born < f.t.cut() { // all ranks take the same branch
		if n == 0 {
			low = f.m.End()
		}
		all := []int64{-low, f.m.Before(), f.m.End()}
		if err := comm.Allreduce(f.c, nil, all, comm.Max); err != nil {
			return ended{fmt.Errorf("file %s: %w", f.name, err)}
		}
		if -all[0] < all[1] {
			if err := f.agree(f.sync()); err != nil {
				return f.note(err)
			}
			if err := f.fork(all[2]); err != nil {
				return f.note(err)
			}
		}
	}
	if n > 0 {
		err = f.call(outfile.Call{Kind: outfile.Write, Pieces: pieces})
	}
	return f.note(f.agree(err))
}

// fork continues with a copy of the file, because the program is about to overwrite bytes
// that the last safe point needs.
func (f *File) fork(size int64) error {
	old := f.current()
	if err := f.lead(outfile.Call{Kind: outfile.Fork, Size: size}); err != nil {
		return err
	}
	f.t.leave(old)
	return nil
}

// note keeps the first error of a write for Close.
func (f *File) note(err error) error {
	if err != nil && f.failed == nil && !ends(err) {
		f.failed = err
	}
	return err
}

// extent returns the number of bytes of pieces, and the lowest offset.
func extent(pieces []outfile.Piece) (n int, low int64) {
	for i, p := range pieces {
		n += len(p.Data)
		if i == 0 || p.Offset < low {
			low = p.Offset
		}
	}
	return n, low
}
