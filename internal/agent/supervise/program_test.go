package supervise

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/testkit/jobtest/steps"
)

// place copies an executable to a path.
func place(t *testing.T, path, from string) {
	t.Helper()
	b, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, b, 0o700))
}

func executable(t *testing.T, name string) string {
	path, err := exec.LookPath(name)
	require.NoError(t, err)
	return path
}

// Processes are started from the program as it was at first, even if its file changes. While
// the file is unchanged, they are started from the file itself.
func TestProgramIsTheOneTheJobBeganWith(t *testing.T) {
	truth, lie := executable(t, "true"), executable(t, "false")
	for _, c := range []struct {
		name   string
		change func(t *testing.T, path string)
		itself bool
	}{
		{"nothing happens", func(*testing.T, string) {}, true},
		{"it is removed", func(t *testing.T, path string) { require.NoError(t, os.Remove(path)) }, false},
		{"the folder of the file is removed", func(t *testing.T, path string) { require.NoError(t, os.RemoveAll(filepath.Dir(path))) }, false},
		{"another file replaces it", func(t *testing.T, path string) {
			place(t, path+".new", lie)
			require.NoError(t, os.Rename(path+".new", path))
		}, false},
		{"the file is overwritten", func(t *testing.T, path string) { place(t, path, lie) }, false},
		{"the file is truncated", func(t *testing.T, path string) { require.NoError(t, os.Truncate(path, 0)) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "folder", "program")
			require.NoError(t, os.Mkdir(filepath.Dir(path), 0o700))
			place(t, path, truth)
			p := keep(path)
			defer p.close()
			<-p.done
			c.change(t, path)
			file, err := p.file()
			require.NoError(t, err)
			require.Equal(t, c.itself, file == path, file)
			require.NoError(t, exec.Command(file).Run(), file)
			if !c.itself {
				require.Error(t, os.WriteFile(file, nil, 0o700), "the copy can be changed")
			}
		})
	}
}

// A program is copied even if its time is set during the copy, as by a build that finds it up
// to date. It is not copied if its content changes.
func TestProgramTouchedDuringTheCopy(t *testing.T) {
	for _, c := range []struct {
		name  string
		now   string // content of the file after the copy; empty: unchanged
		fails bool
	}{
		{name: "only its time is set"},
		{name: "the file is overwritten", now: "other content", fails: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "program")
			require.NoError(t, os.WriteFile(path, []byte("content"), 0o700))
			f, err := os.Open(path)
			require.NoError(t, err)
			defer f.Close()
			p := &program{path: path}
			p.was, err = f.Stat()
			require.NoError(t, err)
			if c.now != "" {
				require.NoError(t, os.WriteFile(path, []byte(c.now), 0o700))
			}
			require.NoError(t, os.Chtimes(path, time.Time{}, p.was.ModTime().Add(time.Second)))
			m, err := p.inMemory(f)
			if c.fails {
				require.ErrorContains(t, err, "it was changed meanwhile")
				return
			}
			require.NoError(t, err)
			defer m.Close()
			got, err := io.ReadAll(io.NewSectionReader(m, 0, 1<<20))
			require.NoError(t, err)
			require.Equal(t, "content", string(got))
		})
	}
}

// A script, and a file that cannot be read, are started from their files.
func TestProgramsWithoutACopy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "script")
	for name, text := range map[string]string{"a script": "#!/bin/sh\n", "an empty file": ""} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(path, []byte(text), 0o700))
			p := keep(path)
			defer p.close()
			require.NoError(t, os.Remove(path))
			file, err := p.file()
			require.NoError(t, err)
			require.Equal(t, path, file)
		})
	}
}

// If a program could not be copied and has changed, no process is started from it, and the
// error gives that reason.
func TestChangedProgramWithoutACopy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	place(t, path, executable(t, "true"))
	p := keep(path)
	defer p.close()
	<-p.done
	p.err = os.ErrPermission
	file, err := p.file()
	require.NoError(t, err)
	require.Equal(t, path, file)
	require.NoError(t, os.Remove(path))
	_, err = p.file()
	require.EqualError(t, err, path+" is not the program any more that the job began with, and that could not be copied: permission denied")
}

// A replacement runs the same build as the live processes.
func TestJoinerAfterARebuild(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	place(t, path, os.Args[0])
	args := steps.Program("join", "out:here", "finish")
	w := watch(t, Plan{Path: path, Args: args, Environ: os.Environ(), Keep: true})
	w.Start(job.Process{}, First)
	w.await("hello 0.0")
	place(t, path+".new", executable(t, "false"))
	require.NoError(t, os.Rename(path+".new", path))
	w.Start(job.Process{Rank: 1}, Joiner)
	w.await("hello 1.0")
}
