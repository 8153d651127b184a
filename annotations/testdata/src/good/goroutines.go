package good

import "sync"

// halves doubles x with a goroutine for each half, which both end before it
// returns.
//
//intra:task in(x) out(y)
func halves(x, y []float64) {
	var wg sync.WaitGroup
	mid := len(y) / 2
	wg.Go(func() { double(x[:mid], y[:mid]) })
	wg.Go(func() { double(x[mid:], y[mid:]) })
	wg.Wait()
}

func double(x, y []float64) {
	for i := range y {
		y[i] = 2 * x[i]
	}
}

// sums adds the results of its goroutines in a fixed order.
//
//intra:task in(x) reduce(+: sum)
func sums(x []float64) (sum float64) {
	var wg sync.WaitGroup
	parts := make([]float64, 4)
	for i := range parts {
		wg.Go(func() {
			for _, v := range x[i*len(x)/4 : (i+1)*len(x)/4] {
				parts[i] += v
			}
		})
	}
	wg.Wait()
	for _, v := range parts {
		sum += v
	}
	return sum
}

// deferred waits whichever way it returns.
//
//intra:task in(x) inout(y)
func deferred(x, y []float64) {
	wg := new(sync.WaitGroup)
	defer wg.Wait()
	if len(x) == 0 {
		return
	}
	wg.Go(func() { double(x, y) })
	if len(x) == 1 {
		return
	}
	y[0]++
}

// each runs f for all blocks of y side by side.
func each(n int, f func(i int)) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for i := range n {
		wg.Go(func() { f(i) })
	}
}

//intra:task in(x) out(y)
func helped(x, y []float64) {
	each(len(y), func(i int) { y[i] = x[i] })
}
