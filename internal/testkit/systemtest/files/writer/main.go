// Writer is a program for random jobs of real processes. Each pass shares work in
// sections that keep their results, and writes files of all kinds. These are a field of all ranks that stays open
// and is overwritten, a log of all ranks, a log for each rank that is sometimes closed,
// and a file for each rank that is created again.
package main

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/file"
)

var (
	grow   = intra.Register("writer.grow")
	encode = intra.Register("writer.encode")
)

// The field consists of blocks, which belong to the ranks cyclically. Each has blockBytes
// bytes, and each rank has the given number of blocks.
const (
	blockBytes = 512
	blocks     = 24
)

func main() {
	intra.Main(func(p *intra.Process) error {
		f := flag.NewFlagSet(os.Args[0], flag.ExitOnError)
		passes := f.Int("passes", 30, "passes of the outer loop")
		dir := f.String("dir", ".", "folder of the files")
		_ = f.Parse(os.Args[1:]) // ends the process if it fails
		return run(p, *passes, *dir)
	})
}

// program is the state of one rank.
type program struct {
	p          *intra.Process
	dir        string
	pass       int
	x          []int64
	encoded    []byte // the contents of x
	field, log *file.File
	own        *file.File
}

func run(p *intra.Process, passes int, dir string) error {
	g := &program{p: p, dir: dir, x: make([]int64, blocks*blockBytes/8), encoded: make([]byte, blocks*blockBytes)}
	intra.Protect(p, "pass", &g.pass)
	intra.Protect(p, "x", &g.x)
	intra.Protect(p, "encoded", &g.encoded)
	var err error
	if g.field, err = file.Create(p, p.World(), filepath.Join(dir, "field")); err != nil {
		return err
	}
	if g.log, err = file.Append(p, p.World(), filepath.Join(dir, "log")); err != nil {
		return err
	}
	if g.own, err = file.Append(p, nil, g.name("own")); err != nil {
		return err
	}
	for ; g.pass < passes; g.pass++ {
		if err := p.SafePoint(); err != nil {
			return err
		}
		if err := g.step(); err != nil {
			return fmt.Errorf("pass %d: %w", g.pass, err)
		}
	}
	return errors.Join(g.field.Close(), g.log.Close(), g.own.Close())
}

// name returns the name of a file of this rank.
func (g *program) name(kind string) string {
	return filepath.Join(g.dir, fmt.Sprintf("%s%d", kind, g.p.Rank()))
}

func (g *program) step() error {
	if err := errors.Join(g.grow(), intra.Fetch(g.p, g.x[:1])); err != nil {
		return err
	}
	sum, err := comm.AllreduceValue(g.p.World(), g.x[0], comm.Sum)
	if err != nil {
		return err
	}
	if err := g.overwrite(); err != nil {
		return err
	}
	if err := g.log.WriteAll(fmt.Appendf(nil, "pass %d of rank %d: %d\n", g.pass, g.p.Rank(), sum)); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(g.own, g.pass, sum); err != nil {
		return err
	}
	if g.pass%5 == 2 {
		if err := g.own.Close(); err != nil {
			return err
		}
		if g.own, err = file.Append(g.p, nil, g.name("own")); err != nil {
			return err
		}
	}
	if g.pass%4 == 1 {
		return g.create()
	}
	return nil
}

// grow computes x and encoded for the next pass.
func (g *program) grow() error {
	s := g.p.Section(intra.Keep)
	for lo, hi := range intra.Blocks(len(g.x), g.p.Tasks()) {
		x := g.x[lo:hi]
		s.Launch(grow, func() {
			for i := range x {
				x[i] = 3*x[i] + int64(g.p.Rank()+i+lo)
			}
		}, intra.InOut("x", x))
	}
	if err := s.End(); err != nil {
		return err
	}
	s = g.p.Section(intra.Keep)
	for lo, hi := range intra.Blocks(len(g.x), g.p.Tasks()) {
		x, to := g.x[lo:hi], g.encoded[8*lo:8*hi]
		s.Launch(encode, func() {
			for i, v := range x {
				binary.LittleEndian.PutUint64(to[8*i:], uint64(v))
			}
		}, intra.In("x", x), intra.Out("to", to))
	}
	return s.End()
}

// overwrite reads the field of the previous pass, and writes that of this one.
func (g *program) overwrite() error {
	part := g.field.View(file.View{Offset: int64(blockBytes * g.p.Rank()), Block: blockBytes, Stride: int64(blockBytes * g.p.Size())})
	if g.pass > 0 {
		old := make([]byte, 8*len(g.x))
		if err := part.ReadAtAll(old, 0); err != nil {
			return err
		}
		if g.pass%3 > 0 { // most results stay where they are
			return part.WriteAtAll(g.encoded, 0)
		}
		if err := intra.Fetch(g.p, g.x); err != nil {
			return err
		}
		for i := range g.x {
			if got := int64(binary.LittleEndian.Uint64(old[8*i:])); 3*got+int64(g.p.Rank()+i) != g.x[i] {
				return fmt.Errorf("the field has %d at %d, from which %d cannot follow", got, i, g.x[i])
			}
		}
	}
	return part.WriteAtAll(g.encoded, 0)
}

// create writes a file of this rank, its end first.
func (g *program) create() error {
	f, err := file.Create(g.p, nil, g.name("part"))
	if err != nil {
		return err
	}
	b, half := g.encoded, len(g.encoded)/2
	if _, err := f.WriteAt(b[half:], int64(half)); err != nil {
		return err
	}
	if _, err := f.WriteAt(b[:half], 0); err != nil {
		return err
	}
	return f.Close()
}
