package figures

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
	"github.com/intrahpc/intra/internal/ntcopy"
)

// Forecast compares what sharing a kernel has given with what it should give by the
// rule of the scheduler: E = T/(T + V/B), or 1/2 where that is more, as then nothing
// is shared. T and V are those of Model.
type Forecast struct {
	Program  string         `json:"program"`
	Kernel   string         `json:"kernel"`
	Config   string         `json:"config"`
	Rate     float64        `json:"bytes_per_second"` // B
	Model    Model          `json:"model"`
	Want     float64        `json:"forecast"`
	Got      spread.Spread  `json:"measured"` // T(replicated) / 2T, on the same cores
	Decision map[string]int `json:"decisions"`
}

// Off is how much more was measured than forecast.
func (f Forecast) Off() float64 { return f.Got.Median - f.Want }

// Rates is what links carry, in bytes per second.
type Rates struct {
	Ring  float64 `json:"ring"`  // a link of shared memory
	Store float64 `json:"store"` // a copy into the array of another replica
}

// Forecasts compares each kernel in each configuration that shares by itself. The
// measurement has Static among its configurations, which tells the size of all
// updates.
func (m *ProxyMeasurement) Forecasts(rates Rates) (all []Forecast) {
	for _, k := range m.Kernels {
		plain, _ := m.Row(k, Replicated.Name)
		var bytes []float64
		shares := false
		for _, s := range m.series(k, Static.Name) {
			bytes = append(bytes, s.UpdateBytes)
			shares = shares || s.Received > 0
		}
		if !shares || plain.Seconds.Median <= 0 {
			continue // the program itself says that it is not shared
		}
		model := Model{Kernel: k, Seconds: plain.Seconds.Median, Bytes: spread.Of(bytes).Median / float64(Static.Ranks)}
		for _, c := range m.Configs {
			f := Forecast{Program: m.Proxy.Name, Kernel: k, Config: c.Name, Model: model}
			switch {
			case !c.decides():
				continue
			case c.Limit > 0:
				f.Rate = min(c.Limit, rates.Ring)
			case c.Name == Stored.Name:
				f.Rate = rates.Store
			default:
				f.Rate = rates.Ring
			}
			r, _ := m.Row(k, c.Name)
			gain := m.gain(k, c.Name)
			half := func(x float64) float64 { return x / 2 }
			f.Want, f.Decision = max(model.E(f.Rate), 0.5), r.Decision
			f.Got = spread.Spread{Median: half(gain.Median), Q1: half(gain.Q1), Q3: half(gain.Q3), Min: half(gain.Min), Max: half(gain.Max)}
			all = append(all, f)
		}
	}
	return all
}

// farOff is a difference that wants to be explained.
const farOff = 0.1

// ForecastTable writes them all.
func ForecastTable(w io.Writer, rates Rates, rounds int, all []Forecast) error {
	fmt.Fprintf(w, "E measured against E forecast by the share-or-not rule, %d rounds in alternation\n", rounds)
	fmt.Fprintf(w, "a link of shared memory carries %.2f GB/s, a copy to another replica's array %.2f GB/s\n\n", rates.Ring/1e9, rates.Store/1e9)
	t := newColumns(w)
	fmt.Fprintf(t, "program\tkernel\tT, s\tV, MB\tlink\tB, GB/s\tE\t\tforecast\toff by\tdecision\n")
	far, loose := 0, 0
	for _, f := range all {
		mark := ""
		if math.Abs(f.Off()) > farOff {
			mark = " !"
			far++
		}
		if f.Got.Loose() {
			mark += " ?"
			loose++
		}
		fmt.Fprintf(t, "%s\t%s\t%.4f\t%.2f\t%s\t%.2f\t%.3f\t%s\t%.3f\t%+.3f%s\t%s\n", f.Program, f.Kernel, f.Model.Seconds, f.Model.Bytes/1e6, f.Config, f.Rate/1e9,
			f.Got.Median, brackets(f.Got, 3), f.Want, f.Off(), mark, decisions(f.Decision))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nE = T(replicated) / 2T of a kernel on the same two cores; forecast: T/(T + V/B) without overlap, 0.5 where it is less.\n")
	fmt.Fprintf(w, "%d of %d differ by more than %.1f (!).\n", far, len(all), farOff)
	var err error
	if loose > 0 || rounds < 3 {
		_, err = fmt.Fprintf(w, "WARNING: quartiles of %d are more than 15%% of the median apart (?), of %d rounds: take more of them on a quiet machine\n", loose, rounds)
	}
	return err
}

// StoreRate measures how fast an array is copied into another one, as replicas that
// store their results do.
func StoreRate() float64 {
	const size, times = 32 << 20, 5
	from, to := make([]byte, size), make([]byte, size)
	for i := range from {
		from[i] = byte(i)
	}
	var rates []float64
	for range times {
		begun := time.Now()
		ntcopy.Copy(to, from)
		rates = append(rates, size/time.Since(begun).Seconds())
	}
	return spread.Of(rates).Median
}
