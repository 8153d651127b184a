package wrong

import "sync"

//intra:task in(x) out(y)
func abandoned(x, y []float64) {
	var wg sync.WaitGroup
	wg.Go(func() { copy(y, x) }) // want `task abandoned starts a goroutine that may outlive it: call Wait of the same sync.WaitGroup on every way to its end`
}

//intra:task in(x) out(y)
func sometimes(x, y []float64) {
	var wg sync.WaitGroup
	wg.Go(func() { copy(y, x) }) // want `task sometimes starts a goroutine that may outlive it`
	if len(x) > 1 {
		return
	}
	wg.Wait()
}

//intra:task in(x) out(y)
func tooEarly(x, y []float64) {
	var wg sync.WaitGroup
	wg.Wait()
	wg.Go(func() { copy(y, x) }) // want `task tooEarly starts a goroutine that may outlive it`
}

//intra:task in(x) out(y)
func another(x, y []float64) {
	var wg, other sync.WaitGroup
	wg.Go(func() { copy(y, x) }) // want `task another starts a goroutine that may outlive it`
	other.Wait()
}

var shared sync.WaitGroup

func spread(f func()) { shared.Go(f) }

//intra:task in(x) out(y)
func bySpread(x, y []float64) {
	spread(func() { copy(y, x) }) // want `task bySpread starts a goroutine that may outlive it: call Wait of the same sync.WaitGroup on every way to its end \(in spread at wrong_goroutines.go:37\)`
}

//intra:task in(x) out(y)
func bare(x, y []float64) {
	done := make(chan bool)                 // want `task bare makes a channel`
	go func() { copy(y, x); close(done) }() // want `task bare starts a goroutine with go: start it with Go of a sync.WaitGroup, and call Wait before the task ends` `task bare closes a channel`
	<-done                                  // want `task bare receives from a channel`
}

//intra:task in(x, y)
func writes(x, y []float64) {
	var wg sync.WaitGroup
	wg.Go(func() { copy(y, x) }) // want `task writes writes y, but y is in in; want out\(y\)`
	wg.Wait()
}

//intra:task inout(y)
func sent(y []float64) {
	c := make(chan []float64, 1) // want `task sent makes a channel`
	c <- y[1:]                   // want `task sent sends on a channel`
	(<-c)[0]++                   // want `task sent receives from a channel`
}

//intra:task inout(x, y)
func selected(x, y []float64) {
	c := make(chan []float64, 1) // want `task selected makes a channel`
	select {                     // want `task selected uses select`
	case c <- x:
	case z, ok := <-c:
		if ok {
			z[0]++
		}
	}
	select { // want `task selected uses select`
	case c <- y:
	case z := <-c:
		z[0]++
	default:
	}
}
