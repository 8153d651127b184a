package launch

import (
	"fmt"
	"sync"

	"github.com/intrahpc/intra/internal/base/checkpoint"
)

// folder is the head's hold on the folder of -checkpoint. The head before this one may have
// taken it, so it may have no lock yet.
type folder struct {
	owner checkpoint.Owner

	mu   sync.Mutex
	lock *checkpoint.Lock
}

// holdFolder takes the folder of -checkpoint for the job, whose ID the processes and other
// heads get to know. It returns nil if there is to be none.
func (j *Job) holdFolder() (*folder, error) {
	if j.Checkpoint == nil {
		return nil, nil
	}
	f := &folder{owner: checkpoint.NewOwner(j.Name, j.Placement == nil)}
	j.Owner = f.owner.ID
	if err := f.hold(j.Checkpoint.Dir); err != nil {
		return nil, fmt.Errorf("-checkpoint %s: %w", j.Checkpoint.Dir, err)
	}
	return f, nil
}

// inheritFolder returns the hold of a successor: the processes of the job have theirs.
func (j *Job) inheritFolder() *folder {
	if j.Checkpoint == nil {
		return nil
	}
	f := &folder{owner: checkpoint.NewOwner(j.Name, false)}
	f.owner.ID = j.Owner
	return f
}

// hold makes sure that the folder is the job's. Without one nothing is written.
func (f *folder) hold(dir string) (err error) {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lock == nil {
		f.lock, err = checkpoint.Take(dir, f.owner)
		return err
	}
	return f.lock.Renew(f.owner)
}

// release gives the folder back.
func (f *folder) release() {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lock.Release()
	f.lock = nil
}
