package launch

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// drainTime bounds how long the pipes of a dead process are read: something
// that it started may hold them open.
const drainTime = time.Second

// outputs are what one process writes.
type outputs struct {
	process job.Process
	streams [2]*forwarder
	crash   crash
	open    sync.WaitGroup // of streams

	mu     sync.Mutex
	asleep bool   // what it writes now is no output of its rank
	said   []byte // meanwhile on standard error
}

// maxSaid bounds what is kept of what a process says before it has its place.
const maxSaid = 64 << 10

// spot is where the output of a process stands.
type spot [crashes]*lines

func newOutputs(p job.Process, streams [2]*forwarder) *outputs {
	o := &outputs{process: p, streams: streams}
	o.crash.ended = make(chan struct{})
	o.open.Add(len(streams))
	return o
}

// write takes in bytes of a stream, or its end. It blocks until there is room.
func (o *outputs) write(s stream, b []byte) {
	switch {
	case s == crashes:
		if o.crash.add(b) {
			o.mu.Lock()
			f, replica := o.streams[stderr], o.process.Replica
			o.mu.Unlock()
			f.freeze(replica)
		}
	case len(b) == 0:
		o.open.Done()
	case o.sleeping(s, b):
	default:
		o.streams[s].write(o.process.Replica, b)
	}
}

// sleeping keeps bytes that are no output of the rank.
func (o *outputs) sleeping(s stream, b []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.asleep && s == stderr {
		o.said = append(o.said, b[:min(len(b), maxSaid-len(o.said))]...)
	}
	return o.asleep
}

// move gives a process that sleeps another place.
func (o *outputs) move(p job.Process, streams [2]*forwarder) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.process, o.streams = p, streams
}

// sleep: what comes now is written again later, or was written before.
func (o *outputs) sleep() {
	o.mu.Lock()
	o.asleep = true
	o.mu.Unlock()
	for _, f := range o.streams {
		f.release(o.process.Replica) // one that waits for another
	}
}

// stand is where the output stands, of a process that writes nothing now.
func (o *outputs) stand() (at spot) {
	for s, f := range o.streams {
		at[s] = f.stand(o.process.Replica)
	}
	return at
}

// wake: the process writes nothing now, and goes on from there.
func (o *outputs) wake(at spot) {
	for s, f := range o.streams {
		f.resume(o.process.Replica, at[s])
	}
	o.mu.Lock()
	o.asleep, o.said = false, nil
	o.mu.Unlock()
}

// finish settles the output of a process that is gone. It returns what the
// process said of its own death. It blocks until the rest has been read.
func (o *outputs) finish(died, itself bool) (words []byte) {
	for _, f := range o.streams {
		f.release(o.process.Replica)
	}
	<-o.crash.ended
	o.open.Wait()
	if !died {
		o.streams[stdout].finished(o.process.Replica)
		o.streams[stderr].finished(o.process.Replica)
		return nil
	}
	o.streams[stdout].died(o.process.Replica, nil, itself)
	o.mu.Lock()
	said, asleep := o.said, o.asleep
	o.mu.Unlock()
	if asleep { // it had no place to write to
		o.streams[stderr].died(o.process.Replica, nil, false)
		return said
	}
	return o.streams[stderr].died(o.process.Replica, o.crash.bytes(), itself)
}

// prefix puts the name of the process in front of each line.
func prefix(p job.Process, text []byte) []byte {
	var b bytes.Buffer
	for line := range bytes.Lines(bytes.TrimRight(text, "\n")) {
		fmt.Fprintf(&b, "%v: %s", p, line)
	}
	return b.Bytes()
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// begin begins where an agent says that it does.
func (o *outputs) begin(from [crashes]written) {
	for s, f := range o.streams {
		f.begin(o.process.Replica, from[s])
	}
}

// abandon: the process was lost with its host before this head was.
func (o *outputs) abandon() {
	for _, f := range o.streams {
		f.abandon(o.process.Replica)
	}
}
