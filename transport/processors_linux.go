package transport

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

// processors returns the number of processors of the machine. This process may be
// bound to some of them while its peers run on other ones, so its own share does not matter.
func processors() int {
	b, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return runtime.NumCPU()
	}
	return max(ranges(strings.TrimSpace(string(b))), runtime.NumCPU())
}

// ranges counts the numbers in a list like 0-3,8.
func ranges(list string) (n int) {
	for part := range strings.SplitSeq(list, ",") {
		first, last, more := strings.Cut(part, "-")
		if !more {
			last = first
		}
		lo, err1 := strconv.Atoi(first)
		hi, err2 := strconv.Atoi(last)
		if err1 == nil && err2 == nil && hi >= lo {
			n += hi - lo + 1
		}
	}
	return n
}
