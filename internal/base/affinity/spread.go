package affinity

import "fmt"

// Mode is the way in which processes are bound to cores.
type Mode string

// The modes.
const (
	Auto Mode = "auto" // bind processes to separate cores, if there are enough for all
	Each Mode = "core" // like Auto, but with too few cores bind each process to one core, which several processes share
	None Mode = "none" // do not bind processes
)

// ParseMode parses a mode.
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case Auto, Each, None:
		return m, nil
	}
	return "", fmt.Errorf("%q: want %s, %s or %s", s, Auto, Each, None)
}

// Core is one core: the numbers of its processors. A core that runs several hardware threads has
// several processors.
type Core []int

// Spread assigns processors to n processes: equal shares of the cores, in order, or nil
// for processes that are not bound. A single process is not bound. In mode Each,
// consecutive processes get different cores even if there are too few.
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
