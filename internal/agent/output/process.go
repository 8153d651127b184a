package output

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// DrainTime bounds how long the pipes of a dead process are read: something
// that it started may hold them open.
const DrainTime = time.Second

// Process is what one process writes.
type Process struct {
	process job.Process
	of      *Rank // the rank that it speaks for
	crash   crash
	open    sync.WaitGroup // of streams
	written atomic.Uint64  // bytes on standard output and standard error

	mu    sync.Mutex
	muted bool   // what it writes now is no output of its rank
	said  []byte // meanwhile on standard error
}

// maxSaid bounds what is kept of what a process says before it has its place.
const maxSaid = 64 << 10

// Position is where the output of a process stands: how much of each stream is
// settled, and what is written and not settled.
type Position [Crashes]struct {
	Written
	Text []byte `json:"text,omitempty"`
}

// NewProcess returns the output of a process, which is a part of that of a rank.
func NewProcess(p job.Process, of *Rank) *Process {
	o := &Process{process: p, of: of}
	o.crash.ended = make(chan struct{})
	o.open.Add(len(of.streams))
	return o
}

// NewMuted returns the output of a process that has no place yet: what it writes
// is no output of the rank until Resume.
func NewMuted(p job.Process, of *Rank) *Process {
	o := NewProcess(p, of)
	o.muted = true
	return o
}

// Rank returns the output that this is a part of.
func (o *Process) Rank() *Rank {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.of
}

// Crashed reports whether the process has begun to say why it crashes.
func (o *Process) Crashed() bool { return len(o.crash.bytes()) > 0 }

// Quit reports whether the process has said what it waits for, as SIGQUIT asks a
// program to do before it ends: that is no crash of its own.
func (o *Process) Quit() bool { return bytes.HasPrefix(o.crash.bytes(), []byte("SIGQUIT: ")) }

// Bytes is how much the process has written.
func (o *Process) Bytes() uint64 { return o.written.Load() }

// Write takes in bytes of a stream, or its end. It blocks until there is room.
func (o *Process) Write(s Stream, b []byte) {
	if s < Crashes {
		o.written.Add(uint64(len(b)))
	}
	switch {
	case s == Crashes:
		if o.crash.add(b) {
			o.mu.Lock()
			f, replica := o.of.streams[Stderr], o.process.Replica
			o.mu.Unlock()
			f.freeze(replica)
		}
	case len(b) == 0:
		o.open.Done()
	case o.keepMuted(s, b):
	default:
		o.of.streams[s].write(o.process.Replica, b)
	}
}

// keepMuted takes in bytes that are no output of the rank, and reports whether
// these are.
func (o *Process) keepMuted(s Stream, b []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.muted && s == Stderr {
		o.said = append(o.said, b[:min(len(b), maxSaid-len(o.said))]...)
	}
	return o.muted
}

// Move gives a process that is muted another place.
func (o *Process) Move(p job.Process, of *Rank) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.process, o.of = p, of
}

// Mute drops what comes from now on: it is written again later, or was written
// before.
func (o *Process) Mute() {
	o.mu.Lock()
	o.muted = true
	o.mu.Unlock()
	for _, f := range o.of.streams {
		f.release(o.process.Replica) // one that waits for another
	}
}

// Position returns where the output of a process stands that writes nothing now.
func (o *Process) Position() (at Position) {
	for s, f := range o.of.streams {
		l := f.stand(o.process.Replica)
		at[s].Written, at[s].Text = Written{Stream(s), l.first, l.off}, l.buf
	}
	return at
}

// Resume makes a process that writes nothing now continue at a position. generation counts the
// rollbacks of the job.
func (o *Process) Resume(at Position, generation uint32) {
	for s, f := range o.of.streams {
		f.resume(o.process.Replica, &lines{buf: at[s].Text, first: at[s].Lines, off: at[s].Cut, generation: generation})
	}
	o.mu.Lock()
	o.muted, o.said = false, nil
	o.mu.Unlock()
}

// Finish settles the output of a process that is gone. It returns what the
// process said of its own death. It blocks until the rest has been read.
func (o *Process) Finish(died, itself bool) (words []byte) {
	for _, f := range o.of.streams {
		f.release(o.process.Replica)
	}
	<-o.crash.ended
	o.open.Wait()
	if !died {
		o.of.streams[Stdout].finished(o.process.Replica)
		o.of.streams[Stderr].finished(o.process.Replica)
		return nil
	}
	o.of.streams[Stdout].died(o.process.Replica, nil, itself)
	o.mu.Lock()
	said, asleep := o.said, o.muted
	o.mu.Unlock()
	if asleep { // it had no place to write to
		o.of.streams[Stderr].died(o.process.Replica, nil, false)
		return said
	}
	return o.of.streams[Stderr].died(o.process.Replica, o.crash.bytes(), itself)
}

// Begin has the output begin where an agent says that it does, with so much of
// its rank out.
func (o *Process) Begin(from, out [Crashes]Written) {
	for s, f := range o.of.streams {
		f.begin(o.process.Replica, from[s], out[s])
	}
}

// Abandon ends the output of a process from which nothing will come.
func (o *Process) Abandon() {
	for _, f := range o.of.streams {
		f.abandon(o.process.Replica)
	}
}

// Prefix puts the name of the process in front of each line.
func Prefix(p job.Process, text []byte) []byte {
	var b bytes.Buffer
	for line := range bytes.Lines(bytes.TrimRight(text, "\n")) {
		fmt.Fprintf(&b, "%v: %s", p, line)
	}
	return b.Bytes()
}
