package file

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/intrahpc/intra/internal/replica/outfile"
)

// ReadAt reads the bytes at an offset. If the file ends before len(b) bytes, ReadAt
// returns io.EOF. In a created file it sees all earlier writes of its own rank, and those
// of other ranks before the last Sync.
func (f *File) ReadAt(b []byte, off int64) (int, error) { return f.View(View{}).ReadAt(b, off) }

// ReadAtAll is ReadAt by all ranks of the file. It returns the error of the first rank
// that has one. A file that ends before len(b) bytes is an error.
func (f *File) ReadAtAll(b []byte, off int64) error { return f.View(View{}).ReadAtAll(b, off) }

// Read reads the next bytes of a file that was opened to be read.
func (f *File) Read(b []byte) (int, error) {
	if f.kind != opened {
		return 0, f.fault("read", errors.New("it is being written: use ReadAt"))
	}
	n, err := f.ReadAt(b, f.pos)
	f.pos += int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

// Size returns the size of a file that is read. For a file that is written it returns the
// end of the bytes that this rank knows of.
func (f *File) Size() int64 {
	if f.kind == opened {
		return f.size
	}
	return f.m.End()
}

// ReadAt is File.ReadAt of the part.
func (p Part) ReadAt(b []byte, off int64) (int, error) {
	if err := p.f.enter("read", false, b); err != nil {
		return 0, err
	}
	if p.f.kind == appended {
		return 0, p.f.fault("read", errors.New("it was opened by Append: use Open"))
	}
	if err := p.valid("read", len(b), off); err != nil {
		return 0, err
	}
	pieces := p.pieces(b, off)
	if p.f.t.resuming() || p.f.t.trial() {
		return p.f.readPieces(pieces)
	}
	return p.f.readOnce(pieces)
}

// ReadAtAll is File.ReadAtAll of the part.
func (p Part) ReadAtAll(b []byte, off int64) error {
	n, err := p.ReadAt(b, off)
	if p.f == nil || ends(err) || p.f.closed {
		return err
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
		if n == len(b) {
			err = nil
		}
	}
	if err != nil {
		err = fmt.Errorf("read %d bytes at %d of %s: %w", len(b), off, p.f.name, err)
	}
	return p.f.agree(err)
}

// readPieces reads from the file as this process sees it.
func (f *File) readPieces(pieces []outfile.Piece) (n int, err error) {
	var h *os.File
	if f.kind == opened {
		h, err = f.input()
	} else {
		h, err = f.handle.get(f.current(), true)
	}
	if err != nil {
		return 0, err
	}
	for _, p := range pieces {
		k, err := h.ReadAt(p.Data, p.Offset)
		if n += k; err != nil && (k < len(p.Data) || err != io.EOF) {
			return n, err
		}
	}
	return n, nil
}

// readOnce reads in one replica of the rank, and copies the bytes to all replicas.
func (f *File) readOnce(pieces []outfile.Piece) (int, error) {
	total, low := extent(pieces)
	read := func(o *outcome) error {
		o.Reads, o.data = true, make([]byte, total)
		into, at := make([]outfile.Piece, len(pieces)), 0
		for i, p := range pieces { // write the caller's memory only once, from the outcome
			into[i] = outfile.Piece{Offset: p.Offset, Data: o.data[at : at+len(p.Data)]}
			at += len(p.Data)
		}
		n, err := f.readPieces(into)
		o.data = o.data[:n]
		if err == io.EOF {
			o.Size, err = 1, nil
		}
		return err
	}
	what := fmt.Sprintf("read %d bytes from %d on", total, low)
	var o outcome
	var err error
	if f.kind == opened {
		o, err = f.once(what, read)
	} else { // the same call writes again what another host may have lost
		o, err = f.carry(outfile.Call{Kind: outfile.Read}, what, read)
	}
	if ends(err) {
		return 0, err
	}
	if err != nil && !o.Reads {
		return 0, f.note(err)
	}
	n := 0
	for _, p := range pieces {
		n += copy(p.Data, o.data[n:])
	}
	if err = o.Fault.error(); err == nil && o.Size == 1 {
		err = io.EOF
	}
	return n, err
}
