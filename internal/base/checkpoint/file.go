package checkpoint

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/zeebo/xxh3"

	"github.com/intrahpc/intra/internal/base/cure"
)

// A file holds the state of one rank:
//
//	magic, version          to distinguish other files and later formats
//	length, header, hash    job, rank and consistent cut of the state
//	length, position, hash  where its process was; opaque here
//	length, manifest, hash  what the state consists of, with a hash of each chunk
//	the chunks, in order
//	sum                     a hash of the three hashes
//
// Lengths and hashes are 8 bytes, all numbers little-endian.
const (
	magic   = "intra checkpoint\n"
	version = 2
)

// Job holds the properties that two jobs must have in common if one is to continue from
// the state of the other.
type Job struct {
	Build string `json:"build"` // build ID of the program
	Arch  string `json:"arch"`  // includes byte order and math library, in the form in which processes compare them
	Ranks int    `json:"ranks"`
	Tasks int    `json:"tasks"` // number of tasks of a section

	Program string `json:"program,omitempty"` // import path of its main package; "" if unknown
	Args    string `json:"args,omitempty"`    // its arguments, see EncodeArgs; "" if unknown
	Run     string `json:"run,omitempty"`     // identifies a job and all jobs that continue it, see NewRun
}

// Header identifies the state in a file.
type Header struct {
	Job  Job
	Set  uint64 // number of the set that the file belongs to; later sets have higher numbers
	Cut  uint64 // number of the safe point, counted from 1
	Rank int
}

// File describes a file that was written or verified.
type File struct {
	Rank  int    `json:"rank"`
	Bytes int64  `json:"bytes"`
	Sum   uint64 `json:"sum,string"` // hash of the contents
}

// Write writes the state of one rank into its set in dir. The file gets its name only when
// it is complete and on disk.
func Write(ctx context.Context, dir string, h Header, position []byte, im *Image) (File, error) {
	return write(ctx, dir, h, position, im, nil)
}

// write is Write, but calls may, if it is not nil, before the file gets its name. An error
// of may prevents that.
func write(ctx context.Context, dir string, h Header, position []byte, im *Image, may func(context.Context) error) (File, error) {
	result := File{Rank: h.Rank}
	set := filepath.Join(dir, setName(h.Set))
	path := filepath.Join(set, fileName(h.Rank))
	err := os.MkdirAll(set, 0o777)
	if e := realFolder(set); err == nil || errors.Is(e, ErrIrregular) {
		err = e
	}
	if err == nil {
		err = replaceFile(path, func(w io.Writer) (err error) {
			result.Bytes, result.Sum, err = encode(ctx, w, h, position, im)
			return err
		}, func() error {
			if may == nil {
				return nil
			}
			return may(ctx)
		})
	}
	if err != nil {
		if realFolder(set) == nil {
			_ = os.Remove(set) // succeeds only if the folder is empty
		}
		return result, fmt.Errorf("write the checkpoint of rank %d at safe point %d: %w", h.Rank, h.Cut, cure.Write(err))
	}
	return result, nil
}

// replaceFile replaces the file at path. The new contents are on disk before the file gets
// its name, and may, if it is not nil, must agree. When replaceFile returns, the name
// itself is on disk, too.
func replaceFile(path string, fill func(io.Writer) error, may func() error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails if the file was renamed
	defer f.Close()
	w := bufio.NewWriter(f)
	if err := fill(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if may != nil {
		if err := may(); err != nil {
			return err
		}
	}
	if st, err := os.Lstat(path); err == nil {
		if err := regular(path, st); err != nil {
			return err
		}
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes the names of files in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

func encode(ctx context.Context, w io.Writer, h Header, position []byte, im *Image) (size int64, sum uint64, err error) {
	le := binary.LittleEndian
	put := func(b []byte) {
		if err == nil {
			_, err = w.Write(b)
			size += int64(len(b))
		}
	}
	var hashes []byte
	block := func(b []byte) {
		put(le.AppendUint64(nil, uint64(len(b))))
		put(b)
		hash := le.AppendUint64(nil, xxh3.Hash(b))
		put(hash)
		hashes = append(hashes, hash...)
	}
	put(le.AppendUint32([]byte(magic), version))
	block(h.append(nil))
	block(position)
	block(im.Manifest().Append(nil))
	for _, c := range im.Chunks() {
		if ctx.Err() != nil {
			return size, 0, context.Cause(ctx)
		}
		put(c)
	}
	sum = xxh3.Hash(hashes)
	put(le.AppendUint64(nil, sum))
	return size, sum, err
}

func (h *Header) append(b []byte) []byte {
	le := binary.LittleEndian
	text := func(s string) { b = append(le.AppendUint16(b, uint16(len(s))), s...) }
	text(h.Job.Build)
	text(h.Job.Arch)
	text(h.Job.Program)
	text(h.Job.Args)
	text(h.Job.Run)
	b = le.AppendUint32(b, uint32(h.Job.Ranks))
	b = le.AppendUint32(b, uint32(h.Job.Tasks))
	b = le.AppendUint64(b, h.Set)
	b = le.AppendUint64(b, h.Cut)
	return le.AppendUint32(b, uint32(h.Rank))
}

func parseHeader(b []byte) (Header, error) {
	r := reader{rest: b}
	h := Header{Job: Job{Build: r.text(), Arch: r.text(), Program: r.text(), Args: r.text(), Run: r.text(), Ranks: int(r.uint32()), Tasks: int(r.uint32())},
		Set: r.uint64(), Cut: r.uint64(), Rank: int(r.uint32())}
	if r.short || len(r.rest) > 0 || h.Rank >= h.Job.Ranks || h.Job.Ranks < 1 {
		return h, fmt.Errorf("%w: its header has the wrong length, or names rank %d of %d", ErrCorrupt, h.Rank, h.Job.Ranks)
	}
	return h, nil
}
