package file_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/file"
	"github.com/intrahpc/intra/internal/testkit/simseed"
	"github.com/intrahpc/intra/intratest"
)

// Processes run again alone, from a safe point before some calls, after other ranks have written
// more. The files are those of a run without failures.
func TestFilesOfKeptResults(t *testing.T) {
	deaths, again := 0, 0
	first, n := simseed.Range(t, 30)
	for seed := first; seed < first+n; seed++ {
		random := rand.New(rand.NewPCG(seed, 50))
		ranks := 1 + random.IntN(3)
		lag := []time.Duration{time.Microsecond, time.Millisecond, time.Minute}[random.IntN(3)]
		kill := fmt.Sprintf("%d.%d@", random.IntN(ranks), random.IntN(2))
		switch random.IntN(5) {
		case 0:
			kill += fmt.Sprint("file:", 30+random.IntN(150))
		case 1:
			kill += fmt.Sprint("message:", 20+random.IntN(60*ranks))
		case 2:
			kill += fmt.Sprint("section:", 2+random.IntN(22))
		case 3:
			kill += fmt.Sprint("task:", 4+random.IntN(30))
		case 4:
			kill += fmt.Sprint("update:", 4+random.IntN(30))
		}
		opts := []intratest.Option{intratest.Lag(lag), intratest.MayKill(kill)}
		if random.IntN(3) == 0 {
			opts = append(opts, intratest.Replace(), intratest.Backup(uint64(1+random.IntN(5))))
		}
		what := fmt.Sprintf("seed %d, %d ranks, lag %v, kill %s, %d options", seed, ranks, lag, kill, len(opts))
		dir := t.TempDir()
		var begun atomic.Int32
		report := intratest.Run(t, intra.Spec{Ranks: ranks, Replicas: 2}, func(p *intra.Process) error {
			begun.Add(1)
			if err := writer(p, dir); err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
			return nil
		}, opts...)
		wrote(t, dir, ranks)
		deaths += len(report.Deaths)
		again += int(begun.Load()) - 2*ranks - len(report.Replaced)
	}
	t.Logf("%d jobs: %d deaths, %d second runs", n, deaths, again)
	if n >= 30 {
		require.Greater(t, again, int(n)/5, "too few second runs")
	}
}

// Ranks append to one file in turn. A process that takes over, or runs again, does not cut off
// what another rank has appended since.
func TestRanksAppendInTurn(t *testing.T) {
	for kill := 3; kill < 40; kill += 3 {
		for name, opts := range map[string][]intratest.Option{
			"replaced":   {intratest.Replace()},
			"runs again": {intratest.Lag(time.Minute)},
		} {
			dir := t.TempDir()
			intratest.Run(t, intra.Spec{Ranks: 2, Replicas: 2}, func(p *intra.Process) error {
				return turns(p, filepath.Join(dir, "log"))
			}, append(opts, intratest.MayKill(fmt.Sprint("0.0@section:", kill)))...)
			require.Equal(t, "0123456789", contents(t, filepath.Join(dir, "log")), "%s at section %d", name, kill)
		}
	}
}

// turns appends ten records to a file, in turn with another rank.
func turns(p *intra.Process, name string) error {
	record, pass := []byte{0}, 0
	intra.Protect(p, "pass", &pass)
	intra.Protect(p, "record", &record)
	for ; pass < 10; pass++ {
		if err := errors.Join(p.SafePoint(), text(p, record, fmt.Sprint(pass))); err != nil {
			return err
		}
		if pass%p.Size() == p.Rank() {
			log, err := file.Append(p, nil, name)
			if err != nil {
				return err
			}
			if _, err := log.Write(record); err != nil {
				return err
			}
			if err := log.Close(); err != nil {
				return err
			}
		}
		if err := p.World().Barrier(); err != nil {
			return err
		}
	}
	return nil
}
