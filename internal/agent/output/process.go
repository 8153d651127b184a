package output

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// DrainTime bounds how long the pipes of a dead process are read. A process that it started
// may hold them open.
const DrainTime = time.Second

// Process is the output of one process.
type Process struct {
	process job.Process
	of      *Rank // the rank to which the output belongs
	crash   crash
	open    sync.WaitGroup // streams that have not ended
	written atomic.Uint64  // bytes on standard output and standard error

	mu    sync.Mutex
	muted bool   // the present output of the process is not output of its rank
	said  []byte // standard error of the process while muted
}

// maxSaid bounds the part of a muted process's standard error that is kept.
const maxSaid = 64 << 10

// Position is a position in the output of a process. For each stream it contains the amount
// that is settled, and the text that is written but not settled.
type Position [Crashes]struct {
	Written
	Text []byte `json:"text,omitempty"`
}

// NewProcess returns the output of a process, as a part of its rank's output.
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

// NewMuted returns the output of a process that has no slot yet. That output does not belong
// to a rank before Resume.
func NewMuted(p job.Process, of *Rank) *Process {
	o := newProcess(p, of)
	o.muted = true
	return o
}

// Rank returns the output of the process's rank.
func (o *Process) Rank() *Rank {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.of
}

// Crashed reports whether the process has begun to write its crash text.
func (o *Process) Crashed() bool { return len(o.crash.bytes()) > 0 }

// Quit reports whether the crash text is the stack dump that SIGQUIT requests, and no crash.
func (o *Process) Quit() bool { return bytes.HasPrefix(o.crash.bytes(), []byte("SIGQUIT: ")) }

// Bytes returns the number of bytes that the process has written.
func (o *Process) Bytes() uint64 { return o.written.Load() }

// Write adds bytes of a stream; an empty b marks its end. It blocks until there is room.
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

// keepMuted handles bytes of a process if it is muted. It reports whether the process is
// muted.
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

// Mute drops the output of the process from now on. That output repeats earlier output, or
// will be repeated later.
func (o *Process) Mute() {
	o.mu.Lock()
	o.muted = true
	o.mu.Unlock()
	o.of.holding(o.process.Replica, o, func(f *forwarder) { f.release(o.process.Replica) }) // it may be waiting for the speaker
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

// Finish settles the output of a process that has ended, and returns the process's text about
// its own death. It blocks until the rest of the output has been read.
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
	if asleep { // the process had no slot, so its output belongs to no rank
		return said
	}
	return words
}

// Begin sets the position at which the output of a process begins, as its agent reports it. It
// also sets the position up to which the rank's output has been written.
func (o *Process) Begin(from, out [Crashes]Written) {
	taken := o.of.hold(o.process.Replica, o)
	for s, f := range o.of.streams {
		if taken {
			f.renew(o.process.Replica)
		}
		f.begin(o.process.Replica, from[s], out[s])
	}
}

// Abandon ends the output of a process that will never write.
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
