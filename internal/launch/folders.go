package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

// Folders are the folders of a job's checkpoint files.
type Folders struct {
	Checkpoint *head.Checkpoint // nil: no files are written
	Owner      string           // ID of the job in the lock of the checkpoint folder
	Restart    string           // folder with the files to restart from, "": none
	Anyway     bool             // restart even if another program, or other arguments, wrote the files
}

// validate reports errors of the folders before anything is started.
func (fs *Folders) validate() error {
	write := ""
	if fs.Checkpoint != nil {
		write = fs.Checkpoint.Dir
	}
	for _, f := range []struct {
		flag, dir string
		needed    bool
	}{
		{"restart", fs.Restart, true},
		{"checkpoint", write, false},
	} {
		if f.dir == "" {
			continue
		}
		switch st, err := os.Stat(f.dir); {
		case err != nil && (f.needed || !os.IsNotExist(err)):
			return fmt.Errorf("-%s %s: %w", f.flag, f.dir, err)
		case err == nil && !st.IsDir():
			return fmt.Errorf("-%s %s: it is not a folder", f.flag, f.dir)
		case err != nil:
			if err := os.MkdirAll(f.dir, 0o777); err != nil {
				return fmt.Errorf("-%s %s: %w", f.flag, f.dir, err)
			}
		}
	}
	return nil
}

// open finds the files to restart from, and the folder to write to. It reads the files of a
// restart completely.
func (fs *Folders) open(of checkpoint.Job) (*decision.Folders, error) {
	found := new(decision.Folders)
	like := of // the description that a set must match
	if fs.Anyway {
		like.Program, like.Args = "", ""
	}
	of.Run = checkpoint.NewRun(time.Now())
	if fs.Restart != "" {
		dir, err := filepath.Abs(fs.Restart)
		if err != nil {
			return nil, fmt.Errorf("-restart: %w", err)
		}
		set, refused, err := checkpoint.Latest(dir, like)
		if errors.Is(err, checkpoint.ErrArguments) || errors.Is(err, checkpoint.ErrProgram) {
			err = fmt.Errorf("%w; -restart-anyway continues from it nevertheless", err)
		}
		if err != nil {
			return nil, fmt.Errorf("-restart: %w", err)
		}
		dir = checkpoint.Directory(dir)
		if set.Job.Run != "" {
			of.Run = set.Job.Run // the run of that set continues
		}
		why := make([]string, 0, len(refused))
		for _, err := range refused {
			why = append(why, err.Error())
		}
		found.Restart = decision.NewRestart(&job.Restart{Dir: dir, Set: *set}, why)
		found.Restart.Rebuilt = set.Job.Build != of.Build
	}
	if fs.Checkpoint != nil {
		dir, err := filepath.Abs(fs.Checkpoint.Dir)
		if err == nil {
			found.First, err = checkpoint.Next(dir, like)
		}
		if err != nil {
			return nil, fmt.Errorf("-checkpoint: %w", err)
		}
		found.Write = &job.Files{Dir: dir, Owner: fs.Owner, Job: of}
	}
	return found, nil
}
