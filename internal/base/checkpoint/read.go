package checkpoint

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/zeebo/xxh3"
)

// These are errors for errors.Is, in addition to ErrCorrupt.
var (
	// ErrForeign means that the file is not a checkpoint, or belongs to another
	// program, job or set.
	ErrForeign = errors.New("foreign checkpoint")
	// ErrVersion means that the file has another format.
	ErrVersion = errors.New("checkpoint of another version")
)

// Read reads the state of one rank of a set. It rejects a file with any changed byte, and
// a file of another set, rank or job.
func Read(dir string, s *Set, rank int) (position []byte, im *Image, err error) {
	path := s.path(dir, rank)
	f, err := openRegular(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("read a checkpoint: %w", err)
	}
	defer f.Close()
	a := NewAssembly(nil)
	d := decoder{keep: func(k Key, b []byte) error { return a.Put(k, append([]byte(nil), b...)) }}
	if err := d.file(f, s, rank); err != nil {
		return nil, nil, fmt.Errorf("read a checkpoint: %s: %w", path, err)
	}
	if im, err = a.Finish(d.manifest); err != nil {
		return nil, nil, fmt.Errorf("read a checkpoint: %s: %w", path, err)
	}
	return d.position, im, nil
}

// Verify reads all files of a set completely, and returns the error of the first
// bad one.
func (s *Set) Verify(dir string) error {
	for rank := range s.Files {
		path := s.path(dir, rank)
		f, err := openRegular(path, os.O_RDONLY, 0)
		if err != nil {
			return err
		}
		d := decoder{keep: func(Key, []byte) error { return nil }}
		err = d.file(f, s, rank)
		f.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(path), err)
		}
	}
	return nil
}

// decoder decodes one file.
type decoder struct {
	keep     func(Key, []byte) error // receives each chunk, whose memory is reused afterwards
	header   Header
	position []byte
	manifest *Manifest

	r    *bufio.Reader
	left int64 // number of bytes of the file that were not read yet
	sum  []byte
}

// file decodes the file of a rank of a set.
func (d *decoder) file(f *os.File, s *Set, rank int) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	sum, err := d.decode(f, st.Size())
	if err != nil {
		return err
	}
	want := Header{Job: s.Job, Set: s.Number, Cut: s.Cut, Rank: rank}
	if d.header != want {
		return fmt.Errorf("%w: it is of %s, not of %s", ErrForeign, d.header, want)
	}
	if sum != s.Files[rank].Sum || st.Size() != s.Files[rank].Bytes {
		return fmt.Errorf("%w: it is whole, but not the file that its set was completed with", ErrForeign)
	}
	return nil
}

func (h Header) String() string {
	return fmt.Sprintf("rank %d of %d, safe point %d, set %d, build %.12s on %s with %d tasks",
		h.Rank, h.Job.Ranks, h.Cut, h.Set, h.Job.Build, h.Job.Arch, h.Job.Tasks)
}

// decode decodes a file of size bytes, and checks every byte.
func (d *decoder) decode(r io.Reader, size int64) (sum uint64, err error) {
	d.r, d.left = bufio.NewReader(r), size
	if err := d.begin(); err != nil {
		return 0, err
	}
	if d.position, err = d.block("position"); err != nil {
		return 0, err
	}
	manifest, err := d.block("manifest")
	if err != nil {
		return 0, err
	}
	if d.manifest, err = ParseManifest(manifest); err != nil {
		return 0, err
	}
	if err := d.chunks(); err != nil {
		return 0, err
	}
	last, err := d.take(8)
	if err != nil {
		return 0, err
	}
	if sum = xxh3.Hash(d.sum); sum != binary.LittleEndian.Uint64(last) {
		return 0, fmt.Errorf("%w: the sum at its end is another", ErrCorrupt)
	}
	if d.left > 0 {
		return 0, fmt.Errorf("%w: %d bytes too many", ErrCorrupt, d.left)
	}
	return sum, nil
}

// begin decodes the magic, the version and the header.
func (d *decoder) begin() error {
	start, err := d.take(uint64(len(magic) + 4))
	if err != nil || string(start[:len(magic)]) != magic {
		return fmt.Errorf("%w: it does not begin as one", ErrForeign)
	}
	if v := binary.LittleEndian.Uint32(start[len(magic):]); v != version {
		return fmt.Errorf("%w: format %d, and this program reads %d", ErrVersion, v, version)
	}
	header, err := d.block("header")
	if err != nil {
		return err
	}
	d.header, err = parseHeader(header)
	return err
}

// chunks decodes and checks the contents.
func (d *decoder) chunks() error {
	if need := d.manifest.Bytes(); need > uint64(d.left) {
		return fmt.Errorf("%w: %d bytes of contents where %d are left: it was cut off", ErrCorrupt, need, d.left)
	}
	buf := make([]byte, ChunkBytes)
	for i := range d.manifest.vars {
		v := &d.manifest.vars[i]
		for j, h := range v.hashes {
			b := buf[:chunkSize(v.bytes, j)]
			if err := d.read(b); err != nil {
				return err
			}
			if xxh3.Hash(b) != h {
				return fmt.Errorf("%w: chunk %d of %q has other contents than were written", ErrCorrupt, j, v.name)
			}
			if err := d.keep(Key{uint32(i), uint32(j)}, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// block reads bytes that are preceded by their length and followed by their hash.
func (d *decoder) block(what string) ([]byte, error) {
	b, err := d.take(8)
	if err != nil {
		return nil, err
	}
	if b, err = d.take(binary.LittleEndian.Uint64(b)); err != nil {
		return nil, fmt.Errorf("its %s: %w", what, err)
	}
	hash, err := d.take(8)
	if err != nil {
		return nil, err
	}
	if xxh3.Hash(b) != binary.LittleEndian.Uint64(hash) {
		return nil, fmt.Errorf("%w: its %s is not as it was written", ErrCorrupt, what)
	}
	d.sum = append(d.sum, hash...)
	return b, nil
}

func (d *decoder) take(n uint64) ([]byte, error) {
	if n > uint64(d.left) {
		return nil, fmt.Errorf("%w: %d bytes wanted where %d are left: it was cut off", ErrCorrupt, n, d.left)
	}
	b := make([]byte, n)
	return b, d.read(b)
}

func (d *decoder) read(b []byte) error {
	d.left -= int64(len(b))
	_, err := io.ReadFull(d.r, b)
	return err
}
