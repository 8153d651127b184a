package wrong

import (
	"fmt"
	"os"
	"time"

	"github.com/intrahpc/intra/kernels"
)

var displacement, calls = 1, 0

func shifted(lo int) int { return lo + displacement }

func counted(lo int) int {
	calls++
	return lo
}

func timed(lo int) int { return lo + time.Now().Second() }

func sorted(ptr []int, lo int) int {
	ptr[0] = lo
	return ptr[lo]
}

func applied(f func(int) int, lo int) int { return f(lo) }

func told(lo int) int {
	fmt.Println(lo)
	return lo
}

func started(lo int) int {
	go counted(lo)
	return lo
}

func fromOutside(lo int) int { return lo + len(os.Args) }

func next(ptr []int, lo int) int { return ptr[lo] }

func small(lo int) int32 { return int32(lo) }

//intra:task in(lo, x[shifted(lo):]) out(y) // want `the bound shifted\(lo\) of in\(x\[shifted\(lo\):\]\) calls shifted, which reads the package variable wrong.displacement: pass it as an argument; such a function reads memory that the kernel has in its clause in, and does nothing else`
func window1(lo int, x, y []float64) { y[0] = x[lo] }

//intra:task in(lo, x[counted(lo):]) out(y) // want `calls counted, which writes the package variable wrong.calls; `
func window2(lo int, x, y []float64) { y[0] = x[lo] }

//intra:task in(lo, x[timed(lo):]) out(y) // want `calls timed, which calls time.Now, whose result differs between replicas`
func window3(lo int, x, y []float64) { y[0] = x[lo] }

//intra:task in(ptr, lo, x[sorted(ptr, lo):]) out(y) // want `calls sorted, which may write to memory of its arguments; `
func window4(ptr []int, lo int, x, y []float64) { y[0] = x[lo] }

//intra:task in(f, lo, x[applied(f, lo):]) out(y) // want `calls applied, which calls one of its arguments; `
func window5(f func(int) int, lo int, x, y []float64) { y[0] = x[lo] }

//intra:task in(lo, x[told(lo):]) out(y) // want `calls told, which calls fmt.Println, which does input or output; `
func window6(lo int, x, y []float64) { y[0] = x[lo] }

//intra:task in(lo, x[started(lo):]) out(y) // want `calls started, which starts a goroutine with go`
func window7(lo int, x, y []float64) { y[0] = x[lo] }

//intra:task in(lo, x[fromOutside(lo):]) out(y) // want `calls fromOutside, which reads the package variable os.Args: `
func window8(lo int, x, y []float64) { y[0] = x[lo] }

//intra:task in(lo, x[next(ptr, lo):]) inout(ptr) out(y) // want `calls next, which reads ptr, which is in inout\(ptr\); `
func window9(ptr []int, lo int, x, y []float64) { y[0], ptr[lo] = x[ptr[lo]], ptr[0] }

//intra:task in(lo, ptr[next(ptr, lo):]) out(y) // want `calls next, which reads ptr, of which ptr\[next\(ptr, lo\):\] is only a window; `
func window10(ptr []int, lo int, y []float64) { y[0] = float64(ptr[ptr[lo]]) }

//intra:task in(lo) out(y[next(ptr, lo):]) in(ptr) // want `clause out: the bound next\(ptr, lo\) of y calls a function, which only bounds of in may: what a task writes follows from its integer parameters alone; make the bound a parameter`
func window11(ptr []int, lo int, y []float64) { y[lo] = 1 }

//intra:task in(lo, x[small(lo):]) out(y) // want `the bound small\(lo\) of a window is of type int32, want int`
func window12(lo int, x, y []float64) { y[0] = x[lo] }

//intra:task in(lo, x[next(lo):]) out(y) // want `the bound next\(lo\) is wrong: not enough arguments in call to next`
func window13(lo int, x, y []float64) { y[0] = x[lo] }

//intra:task in(lo, x[int(lo):]) out(y) // want `the bound int\(lo\) calls int, which is no function or method that the analysis can follow`
func window14(lo int32, x, y []float64) { y[0] = x[lo] }

//intra:task in(f, lo, x[f(lo):]) out(y) // want `the bound f\(lo\) calls f, which is no function or method that the analysis can follow`
func window15(f func(int) int, lo int, x, y []float64) { y[0] = x[lo] }

type firsts interface{ First(lo, n int) int }

//intra:task in(a, lo, x[a.First(lo, 1):]) out(y) // want `calls a.First, which is a method of an interface: its code is not known; `
func window16(a firsts, lo int, x, y []float64) { y[0] = x[lo] }

//intra:task in(a, lo, x[a.NNZ():]) out(y) // want `calls a.NNZ, which is a method of an interface: its code is not known; `
func window17(a kernels.Matrix[float64], lo int, x, y []float64) { y[0] = x[lo] }

var grid kernels.Matrix[float64]

//intra:task in(lo, x[grid.First(lo, 1):]) out(y) // want `the bound grid.First\(lo, 1\) calls a method of grid, which is no parameter`
func window18(lo int, x, y []float64) { y[0] = x[lo] }

//intra:task in(lo, x[next(y, lo):]) out(y) // want `calls next, which reads y, which is in out\(y\); `
func window19(lo int, x []float64, y []int) { y[0] = int(x[lo]) }

//intra:task in(lo, x[next(ptr[1:], lo):], ptr) out(y) // want `a bound is made of integer parameters, constants, len and \+ - \* / %, and in clause in of calls: "ptr\[1:\]" is not`
func window20(lo int, ptr []int, x, y []float64) { y[0] = x[lo] }

type tally struct{ n int }

func (c tally) get(lo int) int { return adds(c.n, lo) }

var adds = func(a, b int) int { return a + b }

//intra:task in(c, lo, x[c.get(lo):]) out(y) // want `calls c.get, which reads the package variable wrong.adds: `
func window21(c tally, lo int, x, y []float64) { y[0] = x[lo] }
