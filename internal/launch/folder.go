package launch

import (
	"fmt"
	"sync"

	"github.com/intrahpc/intra/internal/base/checkpoint"
)

// folder is the head's lock on the folder of -checkpoint. A successor has no lock before its first
// call of hold, since the earlier head may still have the lock.
type folder struct {
	owner checkpoint.Owner

	mu   sync.Mutex
	lock *checkpoint.Lock
}

// holdFolder locks the folder of -checkpoint for the job. The processes and later heads get
// the owner's ID with the job. Without -checkpoint it returns nil.
func (j *Job) holdFolder() (*folder, error) {
	if j.Folders.Checkpoint == nil {
		return nil, nil
	}
	f := &folder{owner: checkpoint.NewOwner(j.Name, j.Placement == nil)}
	j.Folders.Owner = f.owner.ID
	if err := f.hold(j.Folders.Checkpoint.Dir); err != nil {
		return nil, fmt.Errorf("-checkpoint %s: %w", j.Folders.Checkpoint.Dir, err)
	}
	return f, nil
}

// inheritFolder returns the folder of a successor, which holds no lock yet. The processes keep
// using the folder.
func (j *Job) inheritFolder() *folder {
	if j.Folders.Checkpoint == nil {
		return nil
	}
	f := &folder{owner: checkpoint.NewOwner(j.Name, false)}
	f.owner.ID = j.Folders.Owner
	return f
}

// hold ensures that the folder belongs to the job. It does nothing on nil.
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

// release releases the folder when this head ends with the given exit code. If the head has handed
// over, the folder still belongs to the job.
func (f *folder) release(code int) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if code == ExitHandedOver {
		f.lock.Leave()
	} else {
		f.lock.Release()
	}
	f.lock = nil
}
