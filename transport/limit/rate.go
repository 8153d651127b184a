package limit

import (
	"fmt"
	"strconv"
	"strings"
)

// Rate is a bandwidth in bytes per second.
type Rate float64

var units = []struct {
	name  string
	bytes float64
}{{"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"kB", 1e3}, {"B", 1}}

// ParseRate parses a bandwidth like 2.5GB/s, 800MB/s or 64kB/s, with powers of
// 1000; the /s may be left out.
func ParseRate(s string) (Rate, error) {
	number := strings.TrimSuffix(strings.TrimSpace(s), "/s")
	for _, u := range units {
		if n, ok := strings.CutSuffix(number, u.name); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(n), 64)
			if r := Rate(v * u.bytes); err == nil && r >= 1 && r <= maxRate {
				return r, nil
			}
			break
		}
	}
	return 0, fmt.Errorf("%q is not a bandwidth: want bytes per second like 2.5GB/s or 800MB/s", s)
}

// maxRate is beyond any link, and small enough for exact arithmetic.
const maxRate = 1e15

// String formats the rate so that ParseRate can parse it.
func (r Rate) String() string {
	for _, u := range units {
		if float64(r) >= u.bytes {
			return strconv.FormatFloat(float64(r)/u.bytes, 'g', -1, 64) + u.name + "/s"
		}
	}
	return strconv.FormatFloat(float64(r), 'g', -1, 64) + "B/s"
}
