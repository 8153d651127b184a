package main

import (
	"fmt"
	"math"
	"math/rand"
	"sort"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// closures are programs whose kernels have a function as argument. The functions of the
// second part compute a different result each time.
var closures = map[string]program{
	"curried": computes(func(a *arrays) func(float64) float64 {
		multiply := func(by float64) func(float64) float64 { return func(v float64) float64 { return v * by } }
		return composed(multiply(a.s), multiply(3))
	}),
	"byName": computes(func(*arrays) func(float64) float64 {
		all := map[string]func(float64) float64{"sqrt": math.Sqrt, "half": func(v float64) float64 { return v / 2 }}
		return func(v float64) float64 { return all["sqrt"](v) + all["half"](v) }
	}),
	"interpolated": computes(func(a *arrays) func(float64) float64 {
		table := []float64{0, 1, 4, 9, 16, 25}
		return func(v float64) float64 { return float64(sort.SearchFloat64s(table, v*v)) + a.s }
	}),
	"pooled": computes(func(*arrays) func(float64) float64 {
		pool := &sync.Pool{New: func() any { return new(worker) }}
		return func(v float64) float64 {
			w := pool.Get().(*worker)
			defer pool.Put(w)
			return w.eval(v)
		}
	}),
	"fixedPoint": computes(func(*arrays) func(float64) float64 {
		var iterate func(x, v float64, n int) float64
		iterate = func(x, v float64, n int) float64 {
			if n == 0 {
				return x
			}
			return iterate((x+v/x)/2, v, n-1)
		}
		return func(v float64) float64 { return iterate(1, v, 9) }
	}),
	"inParts": computes(func(*arrays) func(float64) float64 {
		return func(v float64) float64 {
			parts := make(chan float64)
			go func() {
				defer close(parts)
				for i := range 4 {
					parts <- v / float64(i+1)
				}
			}()
			sum := 0.0
			for part := range parts {
				sum += part
			}
			return sum
		}
	}),
	"throughText": computes(func(*arrays) func(float64) float64 {
		return func(v float64) float64 {
			r, _ := strconv.ParseFloat(fmt.Sprintf("%.3f", v), 64)
			return r
		}
	}),
	"byExpression": computes(func(*arrays) func(float64) float64 {
		return func(v float64) float64 { return (*worker).eval(&worker{}, v) + polynomial.eval(polynomial{v, 1}, v) }
	}),
	"recovers": computes(func(*arrays) func(float64) float64 {
		return func(v float64) (r float64) {
			defer func() {
				if recover() != nil {
					r = v
				}
			}()
			return []float64{v / 2}[int(v)-1]
		}
	}),

	// These functions compute a different result each time.
	"inMapOrder": computes(func(a *arrays) func(float64) float64 {
		weights := map[int]float64{}
		for i := range 40 {
			weights[i] = math.Sqrt(float64(i)) / 3
		}
		return func(v float64) (sum float64) {
			for _, w := range weights {
				sum += v * w
			}
			return sum
		}
	}),
	"clock": computes(func(*arrays) func(float64) float64 {
		return func(v float64) float64 { return v + float64(time.Now().UnixNano()%9999) }
	}),
	"globalNoise": computes(func(*arrays) func(float64) float64 { return func(v float64) float64 { return v + rand.Float64() } }),
	"atomicCount": computes(func(*arrays) func(float64) float64 {
		var calls atomic.Int64
		return func(v float64) float64 { return v * float64(calls.Add(1)) }
	}),
	"rotates": computes(func(*arrays) func(float64) float64 {
		by := []float64{1, 2, 3, 4}
		return func(v float64) float64 {
			by = append(by[1:], by[0])
			return v * by[0]
		}
	}),
	"generator": computes(func(*arrays) func(float64) float64 {
		numbers := make(chan float64)
		go func() {
			for i := 0.0; ; i++ {
				numbers <- i
			}
		}()
		return func(v float64) float64 { return v + <-numbers }
	}),
	"sumSoFar": computes(func(a *arrays) func(float64) float64 { return func(v float64) float64 { a.s += v; return a.s } }),
}
