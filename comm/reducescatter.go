package comm

import "fmt"

// With up to directRanks ranks, or from directBytes bytes in total, each rank sends every
// other rank its piece. Otherwise one rank reduces the vector and scatters it.
const (
	directRanks = 8
	directBytes = 16 << 10
)

// ReduceScatter combines the elements of all ranks' send with op, in rank order. Rank i
// gets its part of the result, of counts[i] elements. nil counts mean equal parts. Every
// rank passes the same counts.
func ReduceScatter[T any](c *Comm, send, recv []T, counts []int, op func(a, b T) T) error {
	s, err := planReduceScatter(c, send, recv, counts, op)
	return c.run(reduceScatter, s, err)
}

// IreduceScatter begins a ReduceScatter.
func IreduceScatter[T any](c *Comm, send, recv []T, counts []int, op func(a, b T) T) *Request {
	s, err := planReduceScatter(c, send, recv, counts, op)
	return c.begin(reduceScatter, s, err)
}

func planReduceScatter[T any](c *Comm, send, recv []T, counts []int, op func(a, b T) T) (*schedule, error) {
	if err := checkCollective(c, 0, send, recv); err != nil {
		return nil, err
	}
	if err := apart(bytesOf(send), bytesOf(recv), cureCopy); err != nil {
		return nil, err
	}
	n := c.Size()
	if counts == nil {
		counts = make([]int, n)
		for i := range counts {
			counts[i] = len(send) / n
		}
	}
	if len(counts) != n {
		return nil, fmt.Errorf("%w: %d counts for %d ranks", ErrCount, len(counts), n)
	}
	at, size := make([]int, n+1), sizeOf[T]() // at holds where the parts begin, in bytes
	for i, k := range counts {
		if k < 0 {
			return nil, fmt.Errorf("%w: %d elements for rank %d", ErrCount, k, i)
		}
		at[i+1] = at[i] + k*size
	}
	if at[n] != len(send)*size || len(recv) != counts[c.rank] {
		return nil, fmt.Errorf("%w: %d elements for parts of %v, room for %d", ErrCount, len(send), counts, len(recv))
	}
	s, from, into := c.newSchedule(reduceScatter, 0, at[n]), bytesOf(send), bytesOf(recv)
	s.op = operator[T](op)
	if n > directRanks && at[n] < directBytes {
		acc := s.memory(at[n])
		s.copy(acc, from)
		s.reduceTree(acc, 0)
		for i := 1; i < n; i++ {
			if part := acc[at[i]:at[i+1]]; c.rank == 0 {
				s.send(i, part)
			} else if c.rank == i {
				s.fence()
				s.recv(0, into)
			}
		}
		if c.rank == 0 {
			s.copy(into, acc[:at[1]])
		}
		return s, nil
	}
	// Combine the parts for this rank, from that of the first rank to that of the last.
	part := len(into)
	acc := s.memory(n * part)
	s.exchange(
		func(i int) []byte { return from[at[i]:at[i+1]] },
		func(i int) []byte { return acc[i*part : (i+1)*part] })
	for i := 1; i < n; i++ {
		s.combine(acc[:part], acc[:part], acc[i*part:(i+1)*part])
	}
	s.copy(into, acc[:part])
	return s, nil
}
