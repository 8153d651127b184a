package timeline

import (
	"os"
	"time"
)

func hostName() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown host"
	}
	return name
}

// Moment converts a time of this process's clock to the clock of its host. The
// clocks are read one after the other, and the process may have to wait for a
// core in between. So Moment reads them several times and uses the closest pair.
func Moment(t time.Time) int64 {
	const readings = 20
	best, moment := time.Duration(-1), int64(0)
	for range readings {
		before := time.Since(t)
		now := Now()
		after := time.Since(t)
		if took := after - before; best < 0 || took < best {
			best, moment = took, now-int64(before+took/2)
		}
	}
	return moment
}
