package job

import (
	"os"
	"strconv"
	"strings"
)

// Environment variables of a process that a launcher has started. Join removes them, so
// that a child of the process does not try to join the job, too.
const (
	// EnvControl names inherited descriptors: "CONTROL,SECRET,CRASH". If the processes of
	// this host hold a lease, ",LEASE" follows.
	EnvControl = "INTRA_CONTROL"
	// EnvProcess is RANK.REPLICA, for wrapper scripts.
	EnvProcess = "INTRA_PROCESS"
	// EnvLocal is the number of processes of the job that are placed on this host.
	EnvLocal = "INTRA_LOCAL"
	// EnvSlot is "BOARD,SLOT": an inherited descriptor, and the process's slot number on
	// the board.
	EnvSlot = "INTRA_SLOT"
)

// Inheritance holds the descriptors and numbers that a process inherits from its launcher.
type Inheritance struct {
	Control *os.File // its end of the control connection
	Secret  *os.File // holds the secret of the job
	Crash   *os.File // pipe for the text of a crash
	Lease   *os.File // file of a lease.Word; nil if the host has no lease
	Board   *os.File // file of an affinity.Board; nil if the process has no slot
	Slot    int      // slot number of the process on the board
	Local   int      // number of processes that are placed on this host
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

// FirstFile is the descriptor of the first of the Files in the process, as os/exec assigns
// it.
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
