package checkpoint

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// Owner names the job that writes into a folder.
type Owner struct {
	ID    string    `json:"id"`  // of this job and no other
	Job   string    `json:"job"` // program and arguments
	Host  string    `json:"host"`
	PID   int       `json:"pid"` // of intrarun
	Begun time.Time `json:"begun"`
	// Alone: the job ends with that process. On several hosts another one may carry on.
	Alone bool `json:"alone,omitempty"`
	// System and Start tell that process from a later one with its number: the boot and the
	// name space that the number is of, and when it started. "" if that is not known.
	System string `json:"system,omitempty"`
	Start  string `json:"start,omitempty"`
}

// NewOwner describes the job of this process.
func NewOwner(name string, alone bool) Owner {
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	host, err := os.Hostname()
	if err != nil {
		host = "an unknown host"
	}
	o := Owner{ID: hex.EncodeToString(id[:]), Job: name, Host: host, PID: os.Getpid(), Begun: time.Now().UTC(), Alone: alone}
	o.System, o.Start = system(), started(o.PID)
	return o
}

// String describes the job for people.
func (o *Owner) String() string {
	return fmt.Sprintf("the job %q (intrarun %d on %s, begun %s UTC)", o.Job, o.PID, o.Host, o.Begun.UTC().Format(time.DateTime))
}

// known reports whether this process can tell if the owner's lives.
func (o *Owner) known() bool { return o.System != "" && o.System == system() && o.Start != "" }

// gone reports whether the owner's process is known to have ended.
func (o *Owner) gone() bool { return o.known() && started(o.PID) != o.Start }

// readOwner reads what Owner.write has written. It returns nil if there is nothing yet.
func readOwner(f *os.File) (*Owner, error) {
	b := make([]byte, maxOwner)
	n, _ := f.ReadAt(b, 0) // up to the end of the file
	if n == 0 {
		return nil, nil
	}
	o := new(Owner)
	if err := json.Unmarshal(b[:n], o); err != nil {
		return nil, fmt.Errorf("%s does not name a job: %w", f.Name(), err)
	}
	return o, nil
}

// maxOwner bounds what is read: a command line may be that long.
const maxOwner = 1 << 20

// write replaces the contents of a file.
func (o *Owner) write(f *os.File) error {
	b, err := json.Marshal(o)
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	if _, err := f.WriteAt(append(b, '\n'), 0); err != nil {
		return err
	}
	return f.Sync()
}
