package figures

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
	"github.com/intrahpc/intra/internal/replica/ntcopy"
)

// Forecast compares the measured efficiency of sharing a kernel with the prediction of the
// scheduler's rule, E = T/(T + V/B). If that is below 1/2, the prediction is 1/2, since the
// kernel is then not shared. T and V are those of Model.
type Forecast struct {
	Program  string         `json:"program"`
	Kernel   string         `json:"kernel"`
	Config   string         `json:"config"`
	Rate     float64        `json:"bytes_per_second"` // B
	Model    Model          `json:"model"`
	Want     float64        `json:"forecast"`
	Got      spread.Spread  `json:"measured"` // T(replicated) / 2T, on the same cores
	Shared   float64        `json:"shared"`   // fraction of the tasks whose results replicas received from each other; median
	Decision map[string]int `json:"decisions"`
}

// Off returns the measured efficiency minus the forecast.
func (f Forecast) Off() float64 { return f.Got.Median - f.Want }

// Rates are bandwidths, in bytes per second.
type Rates struct {
	Ring  float64 `json:"ring"`  // a link of shared memory
	Store float64 `json:"store"` // a copy into the array of another replica
}

// heavy selects the kernels that measure the speed of a link. At the full speed of the link, the
// updates of such a kernel take at least this share of the kernel's time without sharing.
const heavy = 0.01

// LinkRate returns the bandwidth of a shared-memory link for updates while both sides compute.
// It divides the size of all updates by the time that they took in addition to the bodies, in
// runs that send all of them. byItself is the bandwidth of the link alone.
func LinkRate(programs []*ProxyMeasurement, byItself float64) float64 {
	var bytes, seconds float64
	for _, m := range programs {
		for _, k := range m.Kernels {
			if model, ok := m.sharing(k); ok && model.Bytes > heavy*model.Seconds*byItself {
				sent, _ := m.Row(k, Static.Name)
				bytes += model.Bytes / 2
				seconds += sent.Seconds.Median - model.Seconds/2
			}
		}
	}
	if seconds <= bytes/byItself {
		return byItself
	}
	return bytes / seconds
}

// sharing returns the model of a kernel that begins sections. ok is false if it begins none,
// or if the program does not share it.
func (m *ProxyMeasurement) sharing(kernel string) (Model, bool) {
	plain, _ := m.Row(kernel, Replicated.Name)
	var bytes []float64
	shares := false
	for _, s := range m.series(kernel, Static.Name) {
		bytes = append(bytes, s.UpdateBytes)
		shares = shares || s.Received > 0 && s.Sections
	}
	return Model{Kernel: kernel, Seconds: plain.Seconds.Median, Bytes: spread.Of(bytes).Median / float64(Static.Ranks)}, shares && plain.Seconds.Median > 0
}

// Forecasts compares each kernel in each configuration that decides by itself whether to
// share. The measurement must contain Static, which gives the size of all updates.
func (m *ProxyMeasurement) Forecasts(rates Rates) (all []Forecast) {
	for _, k := range m.Kernels {
		model, ok := m.sharing(k)
		if !ok {
			continue
		}
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
			f.Want, f.Decision, f.Shared = max(model.E(f.Rate), 0.5), r.Decision, m.shared(k, c)
			f.Got = spread.Spread{Median: half(gain.Median), Q1: half(gain.Q1), Q3: half(gain.Q3), Min: half(gain.Min), Max: half(gain.Max)}
			all = append(all, f)
		}
	}
	return all
}

// shared returns the fraction of the tasks whose results replicas received from each other.
func (m *ProxyMeasurement) shared(kernel string, c Config) float64 {
	var all []float64
	for _, s := range m.series(kernel, c.Name) {
		if s.Run > 0 {
			others := float64(c.Replicas - 1)
			// In a section with several types of tasks, all stored results count as those
			// of the first type.
			all = append(all, min(1, s.Received/others*float64(c.Replicas)/(s.Run+s.Received)))
		}
	}
	return spread.Of(all).Median
}

// farOff is the difference from which a forecast is marked as wrong.
const farOff = 0.1

// ForecastTable writes all forecasts.
func ForecastTable(w io.Writer, rates Rates, rounds int, all []Forecast) error {
	fmt.Fprintf(w, "E measured against E forecast by the share-or-not rule, %d rounds in alternation\n", rounds)
	fmt.Fprintf(w, "a link of shared memory carries %.2f GB/s of updates while both sides compute, a copy to another replica's array %.2f GB/s\n\n", rates.Ring/1e9, rates.Store/1e9)
	t := newColumns(w)
	fmt.Fprintf(t, "program\tkernel\tT, s\tV, MB\tlink\tB, GB/s\tE\t\tforecast\toff by\tshared\tdecision\n")
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
		fmt.Fprintf(t, "%s\t%s\t%.4f\t%.2f\t%s\t%.2f\t%.3f\t%s\t%.3f\t%+.3f%s\t%.0f%%\t%s\n", f.Program, f.Kernel, f.Model.Seconds, f.Model.Bytes/1e6, f.Config, f.Rate/1e9,
			f.Got.Median, brackets(f.Got, 3), f.Want, f.Off(), mark, 100*f.Shared, decisions(f.Decision))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nE = T(replicated) / 2T of a kernel on the same two cores; forecast: T/(T + V/B) without overlap, 0.5 where it is less.\nshared: the part of the tasks whose results the replicas took from each other; all run the first sections of a kind themselves.\n")
	fmt.Fprintf(w, "%d of %d differ by more than %.1f (!).\n", far, len(all), farOff)
	var err error
	if loose > 0 || rounds < 3 {
		_, err = fmt.Fprintf(w, "WARNING: quartiles of %d are more than 15%% of the median apart (?), of %d rounds: take more of them on a quiet machine\n", loose, rounds)
	}
	return err
}

// StoreRate measures the bandwidth of copying an array into another one, as replicas do to store
// results.
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
