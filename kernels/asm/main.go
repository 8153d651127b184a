// Command asm generates the assembly of the kernels: the *_amd64.s files of package simd
// and their Go declarations.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
)

func main() {
	dir := flag.String("dir", ".", "directory of package simd")
	flag.Parse()
	if err := generate(*dir); err != nil {
		fmt.Fprintln(os.Stderr, "asm:", err)
		os.Exit(1)
	}
}

// generate writes all files into dir.
func generate(dir string) error {
	for _, f := range []struct {
		name  string
		isa   isa
		write func(*gen)
	}{
		{"vector_avx512_amd64", avx512, vectors},
		{"vector_avx2_amd64", avx2, vectors},
		// For these kernels AVX-512 is not faster: gathers are slow, and most unaligned vectors of
		// 64 bytes span two cache lines.
		{"sparse_avx2_amd64", avx2, sparse},
	} {
		g := newGen(f.isa)
		for _, g.elem = range []elem{f64, f32} {
			f.write(g)
		}
		if err := g.save(filepath.Join(dir, f.name)); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return nil
}

// save compiles the contents of g and writes base.s and base.go.
func (g *gen) save(base string) error {
	file, err := g.Result()
	if err != nil {
		return err
	}
	if err := pass.Compile.Execute(file); err != nil {
		return err
	}
	cfg := printer.Config{Name: "kernels/asm", Pkg: "simd"}
	for ext, p := range map[string]printer.Printer{".s": printer.NewGoAsm(cfg), ".go": printer.NewStubs(cfg)} {
		text, err := p.Print(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(base+ext, text, 0o666); err != nil {
			return err
		}
	}
	return nil
}

func vectors(g *gen) {
	for _, s := range []stores{{}, {nt: true}} {
		g.elementwise(waxpby, s)
		g.elementwise(xpby, s)
	}
	g.elementwise(scale, stores{})
	g.elementwise(copying, stores{nt: true})
	g.elementwise(copying, stores{nt: true, part: true})
	for _, r := range []reduction{dot, sum, waxpbyDot, xpbyDot} {
		g.reduce(r)
	}
}

func sparse(g *gen) {
	g.csr("csrInt32Float", 4, false)
	g.csr("csrInt64Float", 8, false)
	g.csr("csrAddInt32Float", 4, true)
	g.sell()
	g.diag()
	g.sweep(true)
	g.sweep(false)
}
