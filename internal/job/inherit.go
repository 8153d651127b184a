package job

import (
	"os"
	"strconv"
	"strings"
)

// Environment variables of a process that a launcher has started. Join removes
// them, so that what the process starts is not taken for a part of the job.
const (
	// EnvControl names inherited descriptors: "CONTROL,SECRET,CRASH", and after
	// them ",LEASE" if the processes of this host run by a lease.
	EnvControl = "INTRA_CONTROL"
	// EnvProcess is RANK.REPLICA, for wrapper scripts.
	EnvProcess = "INTRA_PROCESS"
	// EnvLocal is how many processes of the job its host was meant to have.
	EnvLocal = "INTRA_LOCAL"
	// EnvSlot is "BOARD,SLOT": an inherited descriptor, and which slot of the board it
	// is that belongs to the process.
	EnvSlot = "INTRA_SLOT"
)

// Inheritance is what a process gets from its launcher by inheritance.
type Inheritance struct {
	Control *os.File // its end of the control connection
	Secret  *os.File // holds the secret of the job
	Crash   *os.File // pipe for the text of a crash
	Lease   *os.File // of a lease.Word; nil if the host has no lease
	Board   *os.File // of an affinity.Board; nil if there is no slot for the process
	Slot    int      // of the board
	Local   int      // how many processes the host was meant to have
}

// Files lists the descriptors in the order of os/exec.Cmd.ExtraFiles.
func (i Inheritance) Files() []*os.File {
	all := []*os.File{i.Control, i.Secret, i.Crash}
	if i.Lease != nil {
		all = append(all, i.Lease)
	}
	if i.Board != nil {
		all = append(all, i.Board)
	}
	return all
}

// FirstFile is the descriptor of the first of the Files in the process, as os/exec
// gives it.
const FirstFile = 3

// Environ returns the variables that announce Files to process p.
func (i Inheritance) Environ(p Process) []string {
	var fds []string
	for n := range i.Files() {
		fds = append(fds, strconv.Itoa(FirstFile+n))
	}
	var slot []string
	if last := len(fds) - 1; i.Board != nil {
		slot = []string{EnvSlot + "=" + fds[last] + "," + strconv.Itoa(i.Slot)}
		fds = fds[:last]
	}
	return append(slot,
		EnvControl+"="+strings.Join(fds, ","), EnvProcess+"="+p.String(),
		EnvLocal+"="+strconv.Itoa(i.Local),
	)
}

// Close closes this process's copies.
func (i Inheritance) Close() {
	for _, f := range i.Files() {
		f.Close()
	}
}
