package figures

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
	"github.com/intrahpc/intra/cmd/intrabench/internal/trial"
)

// Kept returns a configuration like c, which is Send, Auto, or one of Limited or Throttled. Its
// results stay where they were computed, and an image of the state is about lag old.
func Kept(c Config, lag time.Duration) Config {
	c.Name = strings.NewReplacer(Send.Name, keepName, Auto.Name, keepName).Replace(c.Name)
	c.Flags = slices.Concat(c.Flags, []string{"-lag", lag.String()})
	c.Lag = lag.Seconds()
	return c
}

const keepName = "keep"

// leastLags is the number of images that are wanted in a run. A shorter run contains too few of
// them for its time.
const leastLags = 10

// KeptRow summarises what a configuration of Kept sends and copies. All figures are medians of
// the rounds, for one process.
type KeptRow struct {
	Config string        `json:"config"`
	Lag    float64       `json:"lag_seconds"`
	Lags   spread.Spread `json:"lags"`              // length of the run, in lags
	Images float64       `json:"images"`            // number of settled points with an image
	Sent   float64       `json:"sent_bytes"`        // pieces, and parts of images
	Rate   float64       `json:"sent_bytes_second"` // Sent in each second of the run
}

// keptSample is what a process has sent and copied.
type keptSample struct {
	Images float64 `json:"images"`
	Sent   float64 `json:"update_bytes"`
}

// kept returns the average over the processes of a report.
func kept(rep trial.Report) (mean keptSample, err error) {
	for _, p := range rep.Processes {
		var s keptSample
		if err := json.Unmarshal(p, &s); err != nil {
			return mean, fmt.Errorf("%w: a process in the report of intrarun: %w", trial.ErrOutput, err)
		}
		mean.Images += s.Images / float64(len(rep.Processes))
		mean.Sent += s.Sent / float64(len(rep.Processes))
	}
	return mean, nil
}

// keptRows returns the rows of all configurations of Kept.
func (m *Series) keptRows() (all []KeptRow) {
	for _, c := range m.Configs {
		if c.Lag == 0 {
			continue
		}
		var lags, images, sent, rate []float64
		for _, t := range m.Trials {
			if t.Config == c.Name {
				seconds := t.Samples[Total].Seconds
				lags, images = append(lags, seconds/c.Lag), append(images, t.Images)
				sent, rate = append(sent, t.Sent), append(rate, t.Sent/seconds)
			}
		}
		all = append(all, KeptRow{c.Name, c.Lag, spread.Of(lags), spread.Of(images).Median, spread.Of(sent).Median, spread.Of(rate).Median})
	}
	return all
}

// keptTable writes what the configurations of Kept send.
func (m *Series) keptTable(w io.Writer) error {
	if len(m.Kept) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\nKept results: what each process copies and sends; medians\n")
	t := newColumns(w)
	fmt.Fprintf(t, "\tlag, s\trun, lags\timages\tsent, MB\tMB/s\n")
	short := false
	for _, r := range m.Kept {
		mark := ""
		if r.Lags.Median < leastLags {
			mark, short = " !", true
		}
		fmt.Fprintf(t, "  %s\t%g\t%.1f%s\t%.0f\t%.1f\t%.1f\n", r.Config, r.Lag, r.Lags.Median, mark, r.Images, r.Sent/1e6, r.Rate/1e6)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if short {
		_, err := fmt.Fprintf(w, "WARNING: a run of less than %d lags (!) has a different number of images for its time: solve for longer\n", leastLags)
		return err
	}
	return nil
}
