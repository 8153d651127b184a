package vary

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"unsafe"
)

// valueFile holds the values of the variables of a rank at the safe points of the
// undisturbed set. For each safe point the file contains the number of the safe point, the
// number of variables, and the name and memory of each variable, each preceded by its
// size.
type valueFile struct {
	in      *bufio.Reader
	out     *bufio.Writer
	written int64    // bytes of values written
	was     []uint64 // buffer of the last read; its element type aligns it
}

// openValues opens a file for reading, or creates it.
func openValues(name string, read bool) (*valueFile, error) {
	if read {
		f, err := os.Open(name)
		if errors.Is(err, os.ErrNotExist) { // the undisturbed set reached no safe point
			return &valueFile{in: bufio.NewReader(nothing{})}, nil
		}
		if err != nil {
			return nil, fmt.Errorf("intravary: read the undisturbed values: %w", err)
		}
		return &valueFile{in: bufio.NewReaderSize(f, 1<<20)}, nil
	}
	f, err := os.Create(name)
	if err != nil {
		return nil, fmt.Errorf("intravary: keep the undisturbed values: %w", err)
	}
	return &valueFile{out: bufio.NewWriterSize(f, 1<<20)}, nil
}

// nothing is the reader of an empty file.
type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, io.EOF }

// begin writes the header of a safe point with that many variables.
func (f *valueFile) begin(point uint64, variables int) error {
	if err := f.number(point); err != nil {
		return kept(err)
	}
	return kept(f.number(uint64(variables)))
}

func kept(err error) error {
	if err != nil {
		return fmt.Errorf("intravary: keep the undisturbed values: %w", err)
	}
	return nil
}

func (f *valueFile) number(x uint64) error {
	_, err := f.out.Write(binary.LittleEndian.AppendUint64(nil, x))
	return err
}

// write writes a variable.
func (f *valueFile) write(name string, mem []byte) error {
	for _, part := range [][]byte{[]byte(name), mem} {
		if err := f.number(uint64(len(part))); err != nil {
			return kept(err)
		}
		if _, err := f.out.Write(part); err != nil {
			return kept(err)
		}
	}
	return nil
}

// end flushes the values of a safe point, so that other processes can read them.
func (f *valueFile) end() error { return kept(f.out.Flush()) }

// next advances to a safe point with that many variables, and reports whether the file has
// it.
func (f *valueFile) next(point uint64, variables int) (bool, error) {
	was, err := f.get()
	switch {
	case err == io.EOF:
		return false, nil
	case err != nil:
		return false, got(err)
	case was != point:
		return false, fmt.Errorf("intravary: the undisturbed values are those of safe point %d, want %d", was, point)
	}
	n, err := f.get()
	switch {
	case err != nil:
		return false, got(err)
	case n != uint64(variables):
		return false, fmt.Errorf("intravary: this set has registered %d variables and the undisturbed one %d: register the same in both", variables, n)
	}
	return true, nil
}

func (f *valueFile) get() (uint64, error) {
	var b [8]byte
	_, err := io.ReadFull(f.in, b[:])
	return binary.LittleEndian.Uint64(b[:]), err
}

func got(err error) error { return fmt.Errorf("intravary: read the undisturbed values: %w", err) }

// read returns the values of a variable, which are valid until the next call. Their
// memory is aligned for any number.
func (f *valueFile) read(name string) ([]byte, error) {
	was, err := f.part()
	if err != nil {
		return nil, err
	}
	if string(was) != name {
		return nil, fmt.Errorf("intravary: this set has registered %q where the undisturbed one has %q: register the same variables in the same order", name, was)
	}
	return f.part()
}

func (f *valueFile) part() ([]byte, error) {
	n, err := f.get()
	if err != nil {
		return nil, got(err)
	}
	if words := int(n+7) / 8; words > len(f.was) {
		f.was = make([]uint64, words)
	}
	mem := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(f.was))), n)
	if _, err := io.ReadFull(f.in, mem); err != nil {
		return nil, got(err)
	}
	return mem, nil
}
