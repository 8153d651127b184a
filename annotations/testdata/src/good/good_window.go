package good

import (
	"sort"

	"github.com/intrahpc/intra/kernels"
	"helper"
)

//intra:task in(a, lo, x[a.First(lo, len(y)):a.Last(lo, len(y))]) out(y)
func product(a kernels.Matrix[float64], lo int, x, y []float64) { a.MulRows(lo, x, y) }

type profile struct {
	ptr, col []int
	inner    struct{ width int }
}

func (p *profile) first(lo int) int { return p.col[p.ptr[lo]] }

func (p profile) last(lo, n int) int {
	end := 0
	for _, c := range p.col[p.ptr[lo]:p.ptr[lo+n]] {
		end = max(end, c+1)
	}
	return end
}

//intra:task in(p, lo, x[p.first(lo):p.last(lo, len(y))]) out(y)
func byProfile(p *profile, lo int, x, y []float64) { y[0] = x[p.first(lo)] }

//intra:task in(p, lo, x[p.first(lo):p.last(lo, len(y))]) out(y)
func byProfileValue(p profile, lo int, x, y []float64) { y[0] = x[p.first(lo)] }

type held struct {
	*profile
	x, y []float64
}

//intra:task in(h.profile, h.x[h.first(lo):min(h.last(lo, 1)+1, len(h.x))], lo) out(h.y)
func (h *held) multiply(lo int) { h.y[0] = h.x[h.first(lo)] }

func reach(ptr []int, lo int) int { return below(ptr[lo], len(ptr)) }

func below(i, n int) int {
	if i < n {
		return i
	}
	return n
}

//intra:task in(ptr, lo, x[max(0, lo-1):min(lo+len(y)+1, len(x))], z[reach(ptr, lo):]) out(y)
func halo(ptr []int, lo int, x, z, y []float64) { y[0] = x[max(0, lo-1)] + z[reach(ptr, lo)] }

//intra:task in(ptr, lo, x[sort.SearchInts(ptr, lo):helper.Halved(lo)]) out(y)
func search(ptr []int, lo int, x, y []float64) { y[0] = x[sort.SearchInts(ptr, lo)] }

func firstOf[T any](x []T, lo int) int { return min(lo, len(x)) }

//intra:task in(lo, ptr, x[firstOf(ptr, lo):]) out(y)
func generic[T any](ptr []T, lo int, x, y []float64) { y[0] = x[firstOf(ptr, lo)] }

//intra:task in(a[top:bottom, max(0, left-1):left:n], n, top, bottom, left) out(y)
func columns(a []float64, n, top, bottom, left int, y []float64) { y[0] = a[top*n+max(0, left-1)] }
