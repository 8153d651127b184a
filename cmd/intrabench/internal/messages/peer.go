package messages

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
	"github.com/intrahpc/intra/cmd/intrabench/internal/trial"
)

// peerLink represents the link of an outside program.
const peerLink = "peer"

// runPeer runs the outside program. It returns the number of its ranks, and the seconds of
// each case.
func (o Options) runPeer(ctx context.Context) (ranks int, seconds []float64, err error) {
	command := fmt.Sprintf("%s %g", o.Peer, o.Time.Seconds())
	for _, c := range o.Cases {
		command += " " + c.word()
	}
	out, err := trial.Run(ctx, []string{"sh", "-c", command})
	if err != nil {
		return 0, nil, err
	}
	return parsePeer(out, o.Cases)
}

// word names a case on the command line of the outside program, and in its output.
func (c Case) word() string { return fmt.Sprintf("%s:%d", c.Op, c.N) }

// parsePeer parses lines such as "ranks 2" and "pingpong:64 3.1e-07". Launchers may print
// other lines.
func parsePeer(out []byte, cases []Case) (ranks int, seconds []float64, err error) {
	seconds = make([]float64, len(cases))
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if len(words) != 2 {
			continue
		}
		if words[0] == "ranks" {
			ranks, _ = strconv.Atoi(words[1]) // a result of 0 is reported below
		}
		if i := slices.IndexFunc(cases, func(c Case) bool { return c.word() == words[0] }); i >= 0 {
			seconds[i], _ = strconv.ParseFloat(words[1], 64)
		}
	}
	if ranks < 1 {
		return 0, nil, fmt.Errorf("%w: there is no line like \"ranks 2\":\n%s", trial.ErrOutput, trial.Clip(bytes.TrimSpace(out)))
	}
	for i, c := range cases {
		if !(seconds[i] > 0) {
			return 0, nil, fmt.Errorf("%w: there is no line \"%s SECONDS\" with a positive number:\n%s",
				trial.ErrOutput, c.word(), trial.Clip(bytes.TrimSpace(out)))
		}
	}
	return ranks, seconds, nil
}

// measurePeer runs the outside program for the cases of a round.
func (o Options) measurePeer(ctx context.Context, results []Result) error {
	ranks, seconds, err := o.runPeer(ctx)
	if err != nil {
		return err
	}
	if before := results[0].Degrees; before != nil && len(before) != ranks {
		return fmt.Errorf("it has %d ranks now and had %d before", ranks, len(before))
	}
	if !slices.ContainsFunc(o.Degrees, func(d []int) bool { return len(d) == ranks }) {
		return fmt.Errorf("it has %d ranks, and no job of -degrees has as many", ranks)
	}
	for i := range results {
		results[i].Degrees = slices.Repeat([]int{1}, ranks)
		results[i].Seconds = append(results[i].Seconds, seconds[i])
	}
	return nil
}

// besidePeer compares results with those of the outside program.
func besidePeer(results, peer []Result) {
	for i := range results {
		r := &results[i]
		for _, p := range peer {
			if p.Case == r.Case && len(p.Degrees) == len(r.Degrees) {
				r.ToPeer = new(ratios(r.Seconds, p.Seconds))
			}
		}
	}
	for i := range peer {
		peer[i].Spread = spread.Of(peer[i].Seconds)
	}
}
