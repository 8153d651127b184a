package figures

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/intrahpc/intra/cmd/intrabench/internal/trial"
)

// Peer is an outside program that solves the same problem as HPCCG.
type Peer struct {
	Command string         // command for the shell
	Time    *regexp.Regexp // its first group is the time in seconds; nil = wall time
}

// PeerConfig represents the peer among the configurations.
var PeerConfig = Config{Name: "peer"}

// Run runs the peer once.
func (p Peer) Run(ctx context.Context) (seconds float64, err error) {
	begun := time.Now()
	out, err := trial.Run(ctx, []string{"sh", "-c", p.Command})
	wall := time.Since(begun).Seconds()
	if err != nil {
		return 0, fmt.Errorf("peer: %w", err)
	}
	if p.Time == nil {
		return wall, nil
	}
	return p.parse(out)
}

// parse finds the time in the output of the peer. The last match counts.
func (p Peer) parse(out []byte) (float64, error) {
	all := p.Time.FindAllSubmatch(out, -1)
	if len(all) == 0 {
		return 0, fmt.Errorf("%w: the peer printed nothing that matches %s:\n%s", trial.ErrOutput, p.Time, trial.Clip(out))
	}
	text := strings.TrimSpace(string(all[len(all)-1][1]))
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || !(seconds > 0) {
		return 0, fmt.Errorf("%w: the peer's time %q is not a number of seconds", trial.ErrOutput, text)
	}
	return seconds, nil
}

// Beside returns a runner that runs the peer for PeerConfig, and calls run for all other
// configurations.
func (p Peer) Beside(run Runner) Runner {
	return func(ctx context.Context, c Config, pr Problem) (Trial, error) {
		if c.Name != PeerConfig.Name {
			return run(ctx, c, pr)
		}
		seconds, err := p.Run(ctx)
		return Trial{Samples: map[string]Sample{Total: {Seconds: seconds}}}, err
	}
}
