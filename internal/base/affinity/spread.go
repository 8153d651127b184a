package affinity

import "fmt"

// Mode is how processes are bound to cores.
type Mode string

// The modes.
const (
	Auto Mode = "auto" // to cores of their own, if there are enough for all
	Each Mode = "core" // to one core each where there are not, which processes then share
	None Mode = "none" // the kernel moves them about
)

// ParseMode reads a mode.
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case Auto, Each, None:
		return m, nil
	}
	return "", fmt.Errorf("%q: want %s, %s or %s", s, Auto, Each, None)
}

// Core is one core: the numbers of its processors, of which there are several
// where it runs several threads at once.
type Core []int

// Spread gives n processes their processors: equal shares of the cores in
// their order, nil for processes that are not bound. A single process has all
// of them. In mode Each, processes that follow each other get different cores
// even if there are too few.
func Spread(m Mode, cores []Core, n int) [][]int {
	shares := make([][]int, n)
	each := 0
	if len(cores) > 0 {
		each = len(cores) / max(n, 1)
	}
	switch {
	case m == None || n < 2 || len(cores) < 2 || m == Auto && each == 0:
		return shares
	case each == 0:
		for i := range shares {
			shares[i] = append(shares[i], cores[i%len(cores)]...)
		}
		return shares
	}
	for i := range shares {
		for _, c := range cores[i*each : (i+1)*each] {
			shares[i] = append(shares[i], c...)
		}
	}
	return shares
}
