package checkpoint

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// Owner identifies the job that writes into a folder.
type Owner struct {
	ID    string    `json:"id"`  // unique for each job
	Job   string    `json:"job"` // program and arguments
	Host  string    `json:"host"`
	PID   int       `json:"pid"` // process ID of intrarun
	Begun time.Time `json:"begun"`
	// Alone means that the job ends with that process. A job on several hosts may continue
	// under another head.
	Alone bool `json:"alone,omitempty"`
	// System and Start distinguish that process from a later one with the same number.
	// System is the boot and PID namespace of the number, Start the time when the process
	// started. Both are "" if unknown.
	System string `json:"system,omitempty"`
	Start  string `json:"start,omitempty"`
}

// NewOwner returns an Owner for the job of this process.
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

// String describes the job in text.
func (o *Owner) String() string {
	return fmt.Sprintf("the job %q (intrarun %d on %s, begun %s UTC)", o.Job, o.PID, o.Host, o.Begun.UTC().Format(time.DateTime))
}

// known reports whether this process can find out whether the owner's process lives.
func (o *Owner) known() bool { return o.System != "" && o.System == system() && o.Start != "" }

// gone reports whether the owner's process is known to have ended.
func (o *Owner) gone() bool { return o.known() && started(o.PID) != o.Start }

// readOwner reads the result of Owner.write. It returns nil if the file is empty.
func readOwner(f *os.File) (*Owner, error) {
	b := make([]byte, maxOwner)
	n, _ := f.ReadAt(b, 0) // ReadAt returns EOF, because the file is shorter than b
	if n == 0 {
		return nil, nil
	}
	o := new(Owner)
	if err := json.Unmarshal(b[:n], o); err != nil {
		return nil, fmt.Errorf("%s does not name a job: %w", f.Name(), err)
	}
	return o, nil
}

// maxOwner bounds the size of an owner file, which contains a command line.
const maxOwner = 1 << 20

// write replaces the contents of f by o.
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
