package agentwire

import "sync"

// ahead holds the frames that were read from a connection before Read returns them.
type ahead struct {
	mu     sync.Mutex
	some   *sync.Cond
	frames []Frame
	err    error // returned after the frames, once the connection has ended
}

// ReadAhead reads frames as they arrive, until the connection ends, and keeps them for Read.
// Without it, the kernel of the other side would end the connection if nothing is read for
// connectionTime. The goroutine that calls Read calls ReadAhead first.
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
