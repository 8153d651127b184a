//go:build linux

package hostfiles

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/file"
	"github.com/intrahpc/intra/intratest"
)

const quota = 9000

// mounted serves the file system, with a quota, until the test ends.
func mounted(t *testing.T, flags ...string) *disk {
	d := newDisk(t)
	cmd := exec.Command(d.lossy, append(flags, d.folder, d.mount, d.counter("here"), "cat")...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	if err := cmd.Start(); err != nil {
		require.NoError(t, err)
	}
	t.Cleanup(func() {
		in.Close() // cat ends, and lossy unmounts
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	_, err = io.WriteString(in, "mounted\n")
	require.NoError(t, err)
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err, "it cannot be mounted")
	require.Equal(t, "mounted\n", line)
	return d
}

// A quota is exceeded: all replicas of all ranks get that error, with the number of the
// system, and nothing that was complete is lost.
func TestQuota(t *testing.T) {
	for _, late := range []bool{false, true} {
		for name, run := range map[string]func(p *intra.Process, dir string) (failed, closed error){
			"field": func(p *intra.Process, dir string) (failed, closed error) {
				f, err := file.Create(p, p.World(), filepath.Join(dir, "field"))
				if err != nil {
					return nil, fmt.Errorf("create: %w", err)
				}
				failed = f.WriteAtAll(make([]byte, quota), int64(quota*p.Rank()))
				return failed, f.Close()
			},
			"log": func(p *intra.Process, dir string) (failed, closed error) {
				f, err := file.Append(p, p.World(), filepath.Join(dir, "log"))
				if err != nil {
					return nil, fmt.Errorf("append: %w", err)
				}
				for range 10 {
					failed = errors.Join(failed, f.WriteAll(make([]byte, 1000)))
				}
				return failed, f.Close()
			},
		} {
			t.Run(fmt.Sprint(name, late), func(t *testing.T) {
				d := mounted(t, "-quota", fmt.Sprint(quota), fmt.Sprint("-late=", late))
				require.NoError(t, os.WriteFile(filepath.Join(d.folder, "field"), []byte("old"), 0o666))
				var lock sync.Mutex
				var all []error
				intratest.Run(t, intra.Spec{Ranks: 2, Replicas: 2}, func(p *intra.Process) error {
					failed, closed := run(p, d.mount)
					if (failed == nil) != late {
						return fmt.Errorf("the writes return %w", failed)
					}
					lock.Lock()
					defer lock.Unlock()
					all = append(all, closed)
					return nil
				})
				require.Len(t, all, 4)
				for _, err := range all {
					var path *fs.PathError
					require.ErrorAs(t, err, &path)
					require.ErrorIs(t, err, syscall.EDQUOT)
					require.Equal(t, filepath.Join(d.mount, name), path.Path)
					require.EqualError(t, err, all[0].Error())
				}
				left := contents(t, d.folder)
				require.Equal(t, "old", left["field"])
				switch {
				case name == "field":
					require.Len(t, left, 1)
				case late:
					require.LessOrEqual(t, len(left["log"]), quota)
				default:
					require.Len(t, left["log"], 8000, "whole records of two ranks")
				}
			})
		}
	}
}
