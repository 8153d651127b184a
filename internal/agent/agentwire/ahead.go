package agentwire

import "sync"

// ahead is what has been read of a connection before anybody has asked for it.
type ahead struct {
	mu     sync.Mutex
	some   *sync.Cond
	frames []Frame
	err    error // behind the frames, once the connection has ended
}

// ReadAhead has frames read as they come, until the connection ends, and kept for
// Read. For the kernel of the other side a connection of which nobody reads is a dead
// one after connectionTime. It is called by whoever reads.
func (c *Conn) ReadAhead() {
	a := new(ahead)
	a.some = sync.NewCond(&a.mu)
	c.ahead = a
	go func() {
		for {
			f, err := readFrame(c.r)
			a.mu.Lock()
			if a.err = err; err == nil {
				a.frames = append(a.frames, f)
			}
			a.some.Signal()
			a.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
}

// next waits for a frame.
func (a *ahead) next() (Frame, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.frames) == 0 && a.err == nil {
		a.some.Wait()
	}
	if len(a.frames) == 0 {
		return Frame{}, a.err
	}
	f := a.frames[0]
	a.frames = a.frames[1:]
	return f, nil
}
