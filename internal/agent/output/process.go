package output

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// DrainTime bounds how long the pipes of a dead process are read: a process that
// it started may hold them open.
const DrainTime = time.Second

// Process is the output of one process.
type Process struct {
	process job.Process
	of      *Rank // the rank that it speaks for
	crash   crash
	open    sync.WaitGroup // streams that have not ended
	written atomic.Uint64  // bytes on standard output and standard error

	mu    sync.Mutex
	muted bool   // the present output of the process is not output of its rank
	said  []byte // standard error of the process while muted
}

// maxSaid bounds what is kept of the standard error of a muted process.
const maxSaid = 64 << 10

// Position is where the output of a process stands: how much of each stream is
// settled, and the text that is written but not settled.
type Position [Crashes]struct {
	Written
	Text []byte `json:"text,omitempty"`
}

// NewProcess returns the output of a process, as a part of that of its rank.
func NewProcess(p job.Process, of *Rank) *Process {
	o := newProcess(p, of)
	of.mu.Lock()
	defer of.mu.Unlock()
	if of.holder[p.Replica] == nil {
		of.holder[p.Replica] = o
	}
	return o
}

func newProcess(p job.Process, of *Rank) *Process {
	o := &Process{process: p, of: of}
	o.crash.ended = make(chan struct{})
	o.open.Add(len(of.streams))
	return o
}

// NewMuted returns the output of a process that has no slot yet: what it writes
// is not output of the rank until Resume.
func NewMuted(p job.Process, of *Rank) *Process {
	o := newProcess(p, of)
	o.muted = true
	return o
}

// Rank returns the output of the rank that this is a part of.
func (o *Process) Rank() *Rank {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.of
}

// Crashed reports whether the process has begun to write its crash text.
func (o *Process) Crashed() bool { return len(o.crash.bytes()) > 0 }

// Quit reports whether the crash text is the stack dump that SIGQUIT requests,
// which is not a crash.
func (o *Process) Quit() bool { return bytes.HasPrefix(o.crash.bytes(), []byte("SIGQUIT: ")) }

// Bytes returns how many bytes the process has written.
func (o *Process) Bytes() uint64 { return o.written.Load() }

// Write adds bytes of a stream; an empty b means its end. It blocks until there is
// room.
func (o *Process) Write(s Stream, b []byte) {
	if s < Crashes {
		o.written.Add(uint64(len(b)))
	}
	switch {
	case s == Crashes:
		if o.crash.add(b) {
			o.mu.Lock()
			of, replica := o.of, o.process.Replica
			o.mu.Unlock()
			of.holding(replica, o, func(f *forwarder) {
				if f.kind == Stderr {
					f.freeze(replica)
				}
			})
		}
	case len(b) == 0:
		o.open.Done()
	case o.keepMuted(s, b):
	default:
		o.of.streams[s].write(o.process.Replica, b)
	}
}

// keepMuted handles bytes of a muted process, and reports whether it is muted.
func (o *Process) keepMuted(s Stream, b []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.muted && s == Stderr {
		o.said = append(o.said, b[:min(len(b), maxSaid-len(o.said))]...)
	}
	return o.muted
}

// Move gives a muted process another slot.
func (o *Process) Move(p job.Process, of *Rank) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.process, o.of = p, of
}

// Mute drops what is written from now on: it was written before, or will be
// written again.
func (o *Process) Mute() {
	o.mu.Lock()
	o.muted = true
	o.mu.Unlock()
	o.of.holding(o.process.Replica, o, func(f *forwarder) { f.release(o.process.Replica) }) // it may wait for the speaker
}

// Position returns the position of a process that is not writing now.
func (o *Process) Position() (at Position) {
	for s, f := range o.of.streams {
		l := f.stand(o.process.Replica)
		at[s].Written, at[s].Text = Written{Stream(s), l.first, l.off}, l.buf
	}
	return at
}

// Resume makes a process that is not writing now continue at a position.
// generation counts the rollbacks of the job.
func (o *Process) Resume(at Position, generation uint32) {
	o.of.hold(o.process.Replica, o)
	for s, f := range o.of.streams {
		f.resume(o.process.Replica, &lines{buf: at[s].Text, first: at[s].Lines, off: at[s].Cut, generation: generation})
	}
	o.mu.Lock()
	o.muted, o.said = false, nil
	o.mu.Unlock()
}

// Finish settles the output of a process that is gone, and returns what the
// process wrote about its own death. It blocks until the rest has been read.
func (o *Process) Finish(died, itself bool) (words []byte) {
	replica := o.process.Replica
	o.of.holding(replica, o, func(f *forwarder) { f.release(replica) })
	<-o.crash.ended
	o.open.Wait()
	if !died {
		o.of.holding(replica, o, func(f *forwarder) { f.finished(replica) })
		return nil
	}
	o.mu.Lock()
	said, asleep := o.said, o.muted
	o.mu.Unlock()
	o.of.holding(replica, o, func(f *forwarder) {
		switch {
		case f.kind == Stdout:
			f.died(replica, nil, itself)
		case asleep:
			f.died(replica, nil, false)
		default:
			words = f.died(replica, o.crash.bytes(), itself)
		}
	})
	if asleep { // the process had no slot: its output belongs to no rank
		return said
	}
	return words
}

// Begin sets where the output of a process begins, as its agent reports, and how
// much of the rank's output has been written.
func (o *Process) Begin(from, out [Crashes]Written) {
	taken := o.of.hold(o.process.Replica, o)
	for s, f := range o.of.streams {
		if taken {
			f.renew(o.process.Replica)
		}
		f.begin(o.process.Replica, from[s], out[s])
	}
}

// Abandon ends the output of a process that will write nothing.
func (o *Process) Abandon() {
	o.of.holding(o.process.Replica, o, func(f *forwarder) { f.abandon(o.process.Replica) })
}

// Prefix prefixes each line with the name of the process.
func Prefix(p job.Process, text []byte) []byte {
	var b bytes.Buffer
	for line := range bytes.Lines(bytes.TrimRight(text, "\n")) {
		fmt.Fprintf(&b, "%v: %s", p, line)
	}
	return b.Bytes()
}
