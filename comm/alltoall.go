package comm

import "fmt"

// alltoallWindow is the number of pairs of messages under way at a time.
const alltoallWindow = 4

// Alltoall sends part i of send, all of one length, to rank i and receives
// part i of recv from it.
func Alltoall[T any](c *Comm, send, recv []T) error {
	s, err := planAlltoall(c, send, recv)
	return c.run(alltoall, s, err)
}

// Ialltoall begins an Alltoall.
func Ialltoall[T any](c *Comm, send, recv []T) *Request {
	s, err := planAlltoall(c, send, recv)
	return c.begin(alltoall, s, err)
}

// Alltoallv sends send[i] to rank i and receives recv[i] from rank i. The length of recv[i]
// must be that of the part that rank i sends.
func Alltoallv[T any](c *Comm, send, recv [][]T) error {
	s, err := planAlltoallv(c, send, recv)
	return c.run(alltoallv, s, err)
}

// Ialltoallv begins an Alltoallv.
func Ialltoallv[T any](c *Comm, send, recv [][]T) *Request {
	s, err := planAlltoallv(c, send, recv)
	return c.begin(alltoallv, s, err)
}

func planAlltoall[T any](c *Comm, send, recv []T) (*schedule, error) {
	if err := checkCollective(c, 0, send, recv); err != nil {
		return nil, err
	}
	if err := apart(bytesOf(send), bytesOf(recv), cureCopy); err != nil {
		return nil, err
	}
	n := c.Size()
	if len(send) != len(recv) || len(send)%n != 0 {
		return nil, fmt.Errorf("%w: %d elements to send and %d to receive for %d ranks", ErrCount, len(send), len(recv), n)
	}
	s, part := c.newSchedule(alltoall, 0, len(send)*sizeOf[T]()), len(send)/n*sizeOf[T]()
	out, in := bytesOf(send), bytesOf(recv)
	s.exchange(
		func(i int) []byte { return out[i*part : (i+1)*part] },
		func(i int) []byte { return in[i*part : (i+1)*part] })
	return s, nil
}

func planAlltoallv[T any](c *Comm, send, recv [][]T) (*schedule, error) {
	if err := checkCollective(c, 0, send...); err != nil {
		return nil, err
	}
	if err := touch(c, recv...); err != nil {
		return nil, err
	}
	if err := checkParts(c, send); err != nil {
		return nil, err
	}
	if err := checkParts(c, recv); err != nil {
		return nil, err
	}
	if len(send[c.rank]) != len(recv[c.rank]) {
		return nil, fmt.Errorf("%w: %d own elements, room for %d", ErrCount, len(send[c.rank]), len(recv[c.rank]))
	}
	if err := partsApart(partsOf("send", send), partsOf("recv", recv), cureCopy); err != nil {
		return nil, err
	}
	s := c.newSchedule(alltoallv, 0, 0)
	s.exchange(
		func(i int) []byte { return bytesOf(send[i]) },
		func(i int) []byte { return bytesOf(recv[i]) })
	return s, nil
}

// exchange sends out(i) to every rank i and receives in(i), pair by pair: in
// step k each rank sends to the one k after it.
func (s *schedule) exchange(out, in func(i int) []byte) {
	n, rank := s.c.Size(), s.c.rank
	s.copy(in(rank), out(rank))
	for k := 1; k < n; k++ {
		s.send((rank+k)%n, out((rank+k)%n))
		s.recv((rank-k+n)%n, in((rank-k+n)%n))
		if k%alltoallWindow == 0 {
			s.fence()
		}
	}
}
