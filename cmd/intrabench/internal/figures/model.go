package figures

import (
	"fmt"
	"slices"

	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
	"github.com/intrahpc/intra/transport/limit"
)

// Model predicts the efficiency of sharing a kernel at a bandwidth, if no transfer is hidden
// behind computation: E = T / (T + V/B). T is the time of all its sections when they are not
// shared, V the size of all their updates, and B the bandwidth of the link in each direction.
// Native needs T/2. Two replicas that share need T/2, and in addition V/2B to receive each
// other's results.
type Model struct {
	Kernel  string  `json:"kernel"`
	Seconds float64 `json:"seconds"` // T
	Bytes   float64 `json:"bytes"`   // V
}

// E returns the efficiency at a bandwidth in bytes per second.
func (m Model) E(bandwidth float64) float64 {
	return m.Seconds / (m.Seconds + m.Bytes/bandwidth)
}

// Flip returns the bandwidth at which sharing is as fast as not sharing, where E is 1/2.
func (m Model) Flip() float64 { return m.Bytes / m.Seconds }

// models computes the model of each kernel. The times are medians of the replicated runs. The
// updates are those of a rank in the static runs, which always send all of them.
func (m *Series) models(kernels []string) []Model {
	if !slices.ContainsFunc(m.Configs, Config.shares) || !m.has(Static.Name) {
		return nil
	}
	ranks := float64(m.config(Static.Name).Ranks)
	var all []Model
	for _, k := range append([]string{Total}, kernels...) {
		r, ok := m.Row(k, Replicated.Name)
		if !ok {
			return nil
		}
		var bytes []float64
		for _, s := range m.series(k, Static.Name) {
			bytes = append(bytes, s.UpdateBytes/ranks)
		}
		model := Model{Kernel: k, Seconds: r.Seconds.Median, Bytes: spread.Of(bytes).Median}
		if k == Total || model.Bytes > 0 { // kernels that the program does not share have no model
			all = append(all, model)
		}
	}
	return all
}

func parseRate(s string) (float64, error) {
	r, err := limit.ParseRate(s)
	if err != nil {
		return 0, fmt.Errorf("-limits: %w", err)
	}
	return float64(r), nil
}
