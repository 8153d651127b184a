package comm

import (
	"fmt"
	"math/bits"
	"unsafe"
)

// halvingReduce is the size in bytes from which a reduction splits the vector among the
// ranks. Smaller vectors are sent as a whole in every round.
const halvingReduce = 32 << 10

// Reduce combines the elements of all ranks' send with op, in the order of the ranks, into
// recv of rank root. It does not use recv of other ranks. If send is nil, recv contains the
// elements of the caller. op must be associative. The bits of the result depend only on the
// elements, the number of ranks and the length.
func Reduce[T any](c *Comm, send, recv []T, op func(a, b T) T, root int) error {
	s, err := planReduce(c, send, recv, op, root)
	return c.run(reduce, s, err)
}

// Ireduce begins a Reduce.
func Ireduce[T any](c *Comm, send, recv []T, op func(a, b T) T, root int) *Request {
	s, err := planReduce(c, send, recv, op, root)
	return c.begin(reduce, s, err)
}

// Allreduce is like Reduce, but all ranks get the result.
func Allreduce[T any](c *Comm, send, recv []T, op func(a, b T) T) error {
	s, err := planAllreduce(c, send, recv, op)
	return c.run(allreduce, s, err)
}

// Iallreduce begins an Allreduce.
func Iallreduce[T any](c *Comm, send, recv []T, op func(a, b T) T) *Request {
	s, err := planAllreduce(c, send, recv, op)
	return c.begin(allreduce, s, err)
}

// valueBytes is the size up to which AllreduceValue uses memory of the communicator, so
// that it is planned only once.
const valueBytes = 64

// AllreduceValue is Allreduce of one element. It returns v if there is an error.
func AllreduceValue[T any](c *Comm, v T, op func(a, b T) T) (T, error) {
	if err := checkElement[T](); err != nil || c == nil || sizeOf[T]() > valueBytes {
		x := []T{v}
		if err := Allreduce(c, nil, x, op); err != nil {
			return v, err
		}
		return x[0], nil
	}
	memory := c.value
	if c.value = nil; memory == nil {
		memory = new([valueBytes / 8]uint64)
	}
	x := (*T)(unsafe.Pointer(memory))
	*x = v
	if err := Allreduce(c, nil, unsafe.Slice(x, 1), op); err != nil {
		return v, err // a receive may still write to the memory
	}
	c.value = memory
	return *x, nil
}

func planReduce[T any](c *Comm, send, recv []T, op func(a, b T) T, root int) (*schedule, error) {
	if err := checkCollective(c, root, send, recv); err != nil {
		return nil, err
	}
	if c.rank == root {
		if err := apart(bytesOf(send), bytesOf(recv), cureInPlace); err != nil {
			return nil, err
		}
	}
	if send == nil {
		send = recv
	}
	if c.rank == root && len(recv) != len(send) {
		return nil, fmt.Errorf("%w: %d elements from each rank, room for %d", ErrCount, len(send), len(recv))
	}
	from, into := bytesOf(send), bytesOf(recv)
	s, made := c.planFor(reduce, root, len(from), from, into)
	if s.op = operator[T](op); made {
		return s, nil
	}
	if c.rank != root {
		into = s.memory(len(from))
	}
	s.copy(into, from)
	if c.splits(len(from), len(send)) {
		s.reduceLarge(into, sizeOf[T](), root)
	} else {
		s.reduceTree(into, root)
	}
	return s, nil
}

func planAllreduce[T any](c *Comm, send, recv []T, op func(a, b T) T) (*schedule, error) {
	if err := checkCollective(c, 0, send, recv); err != nil {
		return nil, err
	}
	if err := apart(bytesOf(send), bytesOf(recv), cureInPlace); err != nil {
		return nil, err
	}
	if send == nil {
		send = recv
	}
	if len(recv) != len(send) {
		return nil, fmt.Errorf("%w: %d elements from each rank, room for %d", ErrCount, len(send), len(recv))
	}
	from, into := bytesOf(send), bytesOf(recv)
	s, made := c.planFor(allreduce, 0, len(from), from, into)
	if s.op = operator[T](op); made {
		return s, nil
	}
	s.copy(into, from)
	if c.meetsAtOnce(len(into)) {
		s.reduceAtOnce(into)
		return s, nil
	}
	f := s.fold(into)
	switch {
	case f.member < 0:
	case c.splits(len(into), len(recv)):
		s.halve(f, into, sizeOf[T](), true)
	default:
		s.double(f, into)
	}
	s.unfold(f, into)
	return s, nil
}

// splits reports whether a reduction of this size splits the vector among the ranks.
func (c *Comm) splits(bytes, elements int) bool {
	return bytes >= halvingReduce && c.Size() > 2 && elements >= c.Size()
}

// reduceTree combines up a binomial tree. The root of the tree is rank 0, which preserves
// the order of the ranks. It then moves the result to root.
func (s *schedule) reduceTree(acc []byte, root int) {
	n, rank := s.c.Size(), s.c.rank
	in := s.memory(len(acc))
	for d := 1; d < n; d *= 2 {
		if rank&d != 0 {
			s.send(rank-d, acc)
			break
		}
		if rank+d < n {
			s.recv(rank+d, in)
			s.combine(acc, acc, in)
		}
	}
	s.fence()
	s.move(acc, 0, root)
}

// move moves a result from one rank to another.
func (s *schedule) move(b []byte, from, to int) {
	switch {
	case from == to:
	case s.c.rank == from:
		s.send(to, b)
	case s.c.rank == to:
		s.recv(from, b)
	}
}

// folding describes a reduction among a power of two of the ranks.
type folding struct {
	members int // number of members, a power of two
	extra   int // number of other ranks: the lower 2*extra ranks work in pairs
	member  int // number of this rank among the members, or -1
}

// rank returns the rank of a member.
func (f folding) rank(member int) int {
	if member < f.extra {
		return 2*member + 1
	}
	return member + f.extra
}

// foldingOf returns the folding of a number of ranks. member is not set.
func foldingOf(ranks int) folding {
	members := 1 << (bits.Len(uint(ranks)) - 1)
	return folding{members: members, extra: ranks - members}
}

// fold reduces the number of ranks that take part to a power of two, and preserves their
// order.
func (s *schedule) fold(acc []byte) folding {
	rank, f := s.c.rank, foldingOf(s.c.Size())
	switch {
	case rank >= 2*f.extra:
		f.member = rank - f.extra
	case rank%2 == 0:
		f.member = -1
		s.send(rank+1, acc)
	default:
		f.member = rank / 2
		in := s.memory(len(acc))
		s.recv(rank-1, in)
		s.combine(acc, in, acc)
	}
	return f
}

// unfold sends the result to the ranks that are no members.
func (s *schedule) unfold(f folding, acc []byte) {
	switch rank := s.c.rank; {
	case rank >= 2*f.extra:
	case rank%2 == 0:
		s.fence()
		s.recv(rank+1, acc)
	default:
		s.send(rank-1, acc)
	}
}

// A few ranks with little data send their vectors to all others at once. That takes more
// messages than rounds do, but each rank waits only once. If processes take turns on a
// core, every wait costs a turn.
const (
	atOnceRanks = 4
	atOnceBytes = 1 << 10
)

// meetsAtOnce reports whether the ranks exchange vectors of this size without rounds.
func (c *Comm) meetsAtOnce(bytes int) bool {
	return c.Size() > 2 && c.Size() <= atOnceRanks && bytes <= atOnceBytes
}

// reduceAtOnce sends the vectors of all ranks to all ranks. Each rank combines them in the
// order of fold and double, so that the bits of the result do not depend on the size.
func (s *schedule) reduceAtOnce(acc []byte) {
	n := s.c.Size()
	all := s.memory(n * len(acc))
	of := func(rank int) []byte { return all[rank*len(acc) : (rank+1)*len(acc)] }
	s.exchange(func(int) []byte { return acc }, of)
	f := foldingOf(n)
	for pair := range f.extra {
		s.combine(of(2*pair+1), of(2*pair), of(2*pair+1))
	}
	for d := 1; d < f.members; d *= 2 {
		for m := 0; m < f.members; m += 2 * d {
			low := of(f.rank(m))
			s.combine(low, low, of(f.rank(m+d)))
		}
	}
	s.copy(acc, of(f.rank(0)))
}

// double combines by recursive doubling. In the round with distance d each rank has the
// result of an aligned group of d ranks, and gets the result of the neighbouring group. All
// ranks apply the operator to the same pairs.
func (s *schedule) double(f folding, acc []byte) {
	in := s.memory(len(acc))
	for d := 1; d < f.members; d *= 2 {
		peer := f.rank(f.member ^ d)
		s.send(peer, acc)
		s.recv(peer, in)
		if f.member&d == 0 {
			s.combine(acc, acc, in)
		} else {
			s.combine(acc, in, acc)
		}
	}
}

// span is a range of elements.
type span struct{ lo, hi int }

// halve combines in the same order as double. But in each round it combines only the half
// of the vector that the rank keeps. In the end each rank has one complete piece. With
// gather, the ranks then exchange the pieces in the reverse order, until all ranks have all
// pieces.
func (s *schedule) halve(f folding, acc []byte, size int, gather bool) {
	bytes := func(r span) []byte { return acc[r.lo*size : r.hi*size] }
	have := span{0, len(acc) / size}
	var before []span
	in := s.memory((have.hi + 1) / 2 * size)
	for d := 1; d < f.members; d *= 2 {
		before = append(before, have)
		keep, give := f.cut(have, d)
		peer := f.rank(f.member ^ d)
		s.send(peer, bytes(give))
		mine, theirs := bytes(keep), in[:(keep.hi-keep.lo)*size]
		s.recv(peer, theirs)
		if f.member&d == 0 {
			s.combine(mine, mine, theirs)
		} else {
			s.combine(mine, theirs, mine)
		}
		have = keep
	}
	for d := f.members / 2; gather && d > 0; d /= 2 {
		all := before[len(before)-1]
		before = before[:len(before)-1]
		keep, give := f.cut(all, d)
		peer := f.rank(f.member ^ d)
		s.send(peer, bytes(keep))
		s.recv(peer, bytes(give))
		s.fence()
	}
}

// cut splits a range between this member and its peer at distance d.
func (f folding) cut(r span, d int) (keep, give span) {
	mid := r.lo + (r.hi-r.lo+1)/2
	low, high := span{r.lo, mid}, span{mid, r.hi}
	if f.member&d == 0 {
		return low, high
	}
	return high, low
}

// reduceLarge combines by halving. The members then send their pieces to the root.
func (s *schedule) reduceLarge(acc []byte, size int, root int) {
	f := s.fold(acc)
	if f.member >= 0 {
		s.halve(f, acc, size, false)
	}
	s.fence()
	for m := range f.members {
		g, have := f, span{0, len(acc) / size}
		g.member = m
		for d := 1; d < f.members; d *= 2 {
			have, _ = g.cut(have, d)
		}
		s.move(acc[have.lo*size:have.hi*size], f.rank(m), root)
	}
}
