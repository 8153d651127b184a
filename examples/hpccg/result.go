package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/intrahpc/intra/examples/internal/cli"
)

// result is the output of a run. As JSON it is one line.
type result struct {
	Ranks      int          `json:"ranks"`
	NX         int          `json:"nx"`
	NY         int          `json:"ny"`
	NZ         int          `json:"nz"`
	Iterations int          `json:"iterations"`
	Residual   cli.Number   `json:"residual"`
	History    []cli.Number `json:"history"`
	Error      cli.Number   `json:"error"`
	XSHA256    string       `json:"x_sha256"`
	Seconds    seconds      `json:"seconds"`
}

// warnings returns a line for each part of the result that is not a number, with the
// reason.
func (r *result) warnings() []string {
	var w []string
	if e := float64(r.Error); math.IsNaN(e) || math.IsInf(e, 0) {
		w = append(w, "error is not a number: the residual became exactly 0, and the pass in hand went on with 0/0; use a tolerance above 0, -tol 1e-12 say")
	}
	if f := float64(r.Residual); math.IsNaN(f) || math.IsInf(f, 0) {
		w = append(w, fmt.Sprintf("residual is not a number: pass %d divided 0 by 0", r.Iterations))
	}
	return w
}

// Print writes the result as text for people.
func (r *result) Print(w io.Writer) {
	rows := float64(r.NX) * float64(r.NY) * float64(r.NZ) * float64(r.Ranks)
	passes := float64(r.Iterations)
	fmt.Fprintf(w, "%d passes, residual %.6g, largest error %.3g, x %s…\n",
		r.Iterations, float64(r.Residual), float64(r.Error), r.XSHA256[:16])
	fmt.Fprintf(w, "%-10s %10s %7s %10s\n", "", "seconds", "share", "MFLOP/s")
	line := func(name string, sec, flops float64) {
		rate := ""
		if flops > 0 && sec > 0 {
			rate = fmt.Sprintf("%.0f", flops/sec/1e6)
		}
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("%-10s %10.4f %6.1f%% %10s", name, sec, 100*sec/max(r.Seconds.Total, 1e-300), rate), " "))
	}
	line("total", r.Seconds.Total, 64*rows*passes)
	line("waxpby", r.Seconds.Waxpby, 6*rows*passes)
	line("ddot", r.Seconds.Ddot, 4*rows*passes)
	line("sparsemv", r.Seconds.Sparsemv, 54*rows*passes)
	line("exchange", r.Seconds.Exchange, 0)
	line("allreduce", r.Seconds.Allreduce, 0)
}
