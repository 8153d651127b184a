package file_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/file"
	"github.com/intrahpc/intra/intratest"
)

// A write fails, and the program goes on after Close. The job then rolls back to a safe point
// at which the file was open: the file continues, and fails again.
func TestRollbackAfterAFailedWrite(t *testing.T) {
	var closed atomic.Int64 // by all ranks of all jobs
	jobs := 0
	for k := 150; k < 220; k += 5 {
		jobs++
		dir := t.TempDir()
		intratest.Run(t, intra.Spec{Ranks: 2, Replicas: 1}, func(p *intra.Process) error {
			pass := 0
			intra.Protect(p, "pass", &pass)
			var f *file.File
			var err error
			if pass <= 17 {
				if f, err = file.Create(p, p.World(), filepath.Join(dir, "field")); err != nil {
					return err
				}
			}
			for ; pass < 24; pass++ {
				if err := p.SafePoint(); err != nil {
					return err
				}
				for range 5 { // processes die in these calls
					if _, err := comm.AllreduceValue(p.World(), pass, comm.Sum); err != nil {
						return err
					}
				}
				if pass < 17 {
					if err := f.WriteAtAll(fmt.Append(nil, pass%10), int64(2*pass+p.Rank())); err != nil {
						return err
					}
				}
				if pass == 17 && f != nil {
					_, _ = f.WriteAt([]byte("x"), -1) // refused
					err := f.Close()
					if errors.Is(err, intra.ErrRollback) {
						return err
					}
					if err == nil {
						return errors.New("no error")
					}
					closed.Add(1)
					f = nil
				}
			}
			return nil
		}, intratest.Replace(), intratest.Backup(3), intratest.MayKill(fmt.Sprintf("1.0@message:%d", k)))
		all, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, all)
	}
	require.Greater(t, closed.Load(), int64(2*jobs), "no job has rolled back after Close")
}
