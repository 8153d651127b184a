package sdr

import "slices"

// queue is a list that is mostly used from the front.
type queue[T any] struct {
	items []T
	head  int
}

func (q *queue[T]) all() []T { return q.items[q.head:] }

func (q *queue[T]) push(v T) {
	if q.head > 0 && len(q.items) == cap(q.items) {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, v)
}

// insert puts v before item i of all().
func (q *queue[T]) insert(i int, v T) { q.items = slices.Insert(q.items, q.head+i, v) }

// remove takes item i of all() out.
func (q *queue[T]) remove(i int) {
	if i > 0 {
		q.items = slices.Delete(q.items, q.head+i, q.head+i+1)
		return
	}
	q.pop()
}

// pop takes the first item out.
func (q *queue[T]) pop() {
	var zero T
	q.items[q.head] = zero
	if q.head++; q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
}
