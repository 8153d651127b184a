// Package queue is the first-in, first-out queue of frames that a link keeps.
package queue

import "github.com/intrahpc/intra/transport"

// Queue holds frames in order of arrival. It reuses its memory, so that a
// link in a steady state does not allocate. The zero value is empty; its user
// provides the locking.
type Queue struct {
	frames []*transport.Frame
	head   int // frames before this index are removed
}

// Len is the number of frames.
func (q *Queue) Len() int { return len(q.frames) - q.head }

// Push appends f.
func (q *Queue) Push(f *transport.Frame) {
	if q.head > 0 && len(q.frames) == cap(q.frames) {
		n := copy(q.frames, q.frames[q.head:])
		clear(q.frames[n:])
		q.frames, q.head = q.frames[:n], 0
	}
	q.frames = append(q.frames, f)
}

// At returns the frame i places after the front.
func (q *Queue) At(i int) *transport.Frame { return q.frames[q.head+i] }

// Pop removes the front. The queue must not be empty.
func (q *Queue) Pop() *transport.Frame {
	f := q.frames[q.head]
	q.frames[q.head] = nil
	if q.head++; q.head == len(q.frames) {
		q.frames, q.head = q.frames[:0], 0
	}
	return f
}

// Take empties the queue and returns its frames.
func (q *Queue) Take() []*transport.Frame {
	frames := q.frames[q.head:]
	q.frames, q.head = nil, 0
	return frames
}

// Fail reports to the owners of frames that they were not handed over.
func Fail(frames []*transport.Frame, err error) {
	for _, f := range frames {
		Sent(f, err)
	}
}

// Sent reports to the owner of f, if there is one, that f was handed over.
func Sent(f *transport.Frame, err error) {
	if f.Owner != nil {
		f.Owner.Sent(f, err)
	}
}
