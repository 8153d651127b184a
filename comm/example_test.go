package comm_test

import (
	"context"
	"fmt"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
)

// Every rank sends its number to the next one. It receives messages from any source and
// stores them by source.
func Example() {
	spec := intra.Spec{Ranks: 3, Replicas: 2}
	err := intra.Run(context.Background(), spec, func(p *intra.Process) error {
		c := p.World()
		in := make([]int, 1)
		r := comm.Irecv(c, in, comm.AnySource, 0)
		if err := comm.Send(c, []int{c.Rank()}, (c.Rank()+1)%c.Size(), 0); err != nil {
			return err
		}
		if _, err := r.Wait(); err != nil {
			return err
		}
		all := make([]int, c.Size())
		if err := comm.Allgather(c, in, all); err != nil {
			return err
		}
		if c.Rank() == 0 && p.Replica() == 0 {
			fmt.Println(all)
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// [2 0 1]
	// <nil>
}

// Rank 0 sends to rank 1, whose buffer is longer. Rank 1 learns the number of elements.
func ExampleSend() {
	err := intra.Run(context.Background(), intra.Spec{Ranks: 2, Replicas: 2}, func(p *intra.Process) error {
		c, tag := p.World(), 7
		if c.Rank() == 0 {
			return comm.Send(c, []float64{1, 2, 3}, 1, tag)
		}
		in := make([]float64, 8)
		st, err := comm.Recv(c, in, 0, tag)
		if p.Replica() == 0 {
			fmt.Println(in[:st.Count], "from rank", st.Source)
		}
		return err
	})
	fmt.Println(err)
	// Output:
	// [1 2 3] from rank 0
	// <nil>
}

// The source may be any rank. Status contains it.
func ExampleRecv() {
	c := comm.Self()
	sent := comm.Isend(c, []int{42}, 0, 5)
	in := make([]int, 1)
	st, err := comm.Recv(c, in, comm.AnySource, comm.AnyTag)
	fmt.Println(in, st.Source, st.Tag, st.Count, err)
	if _, err := sent.Wait(); err != nil {
		fmt.Println(err)
	}
	// Output: [42] 0 5 1 <nil>
}

// Both ranks send to each other at the same time. With a Send before a Recv each could
// wait for the other.
func ExampleSendrecv() {
	err := intra.Run(context.Background(), intra.Spec{Ranks: 2, Replicas: 2}, func(p *intra.Process) error {
		c := p.World()
		other := 1 - c.Rank()
		in := make([]int, 1)
		_, err := comm.Sendrecv(c, []int{10 + c.Rank()}, other, 0, in, other, 0)
		if c.Rank() == 0 && p.Replica() == 0 {
			fmt.Println(in)
		}
		return err
	})
	fmt.Println(err)
	// Output:
	// [11]
	// <nil>
}

// A halo exchange on a ring: the ranks post the receives first, and compute while the
// messages are under way. WaitAll returns the errors of all requests.
func ExampleIsend() {
	err := intra.Run(context.Background(), intra.Spec{Ranks: 3, Replicas: 2}, func(p *intra.Process) error {
		c := p.World()
		left, right := (c.Rank()+c.Size()-1)%c.Size(), (c.Rank()+1)%c.Size()
		own, halo := []int{c.Rank()}, make([]int, 2)
		requests := []*comm.Request{
			comm.Irecv(c, halo[:1], left, 1),
			comm.Irecv(c, halo[1:], right, 2),
			comm.Isend(c, own, right, 1),
			comm.Isend(c, own, left, 2),
		}
		err := comm.WaitAll(requests...)
		if c.Rank() == 0 && p.Replica() == 0 {
			fmt.Println(halo)
		}
		return err
	})
	fmt.Println(err)
	// Output:
	// [2 1]
	// <nil>
}

// Wait returns the error of the receive. After that the buffer holds the message.
func ExampleRequest_Wait() {
	c := comm.Self()
	in := make([]int, 4)
	r := comm.Irecv(c, in, 0, 0)
	err := comm.Send(c, []int{1, 2, 3}, 0, 0)
	st, failed := r.Wait()
	fmt.Println(in[:st.Count], err, failed)
	// Output: [1 2 3] <nil> <nil>
}

// Rank 0 has a value that all ranks need.
func ExampleBcast() {
	err := intra.Run(context.Background(), intra.Spec{Ranks: 3, Replicas: 2}, func(p *intra.Process) error {
		c, steps := p.World(), make([]int, 1)
		if c.Rank() == 0 {
			steps[0] = 100
		}
		err := comm.Bcast(c, steps, 0)
		if c.Rank() == 2 && p.Replica() == 0 {
			fmt.Println(steps)
		}
		return err
	})
	fmt.Println(err)
	// Output:
	// [100]
	// <nil>
}

// Each rank passes its value on to the next one, in place.
func ExampleSendrecvReplace() {
	err := intra.Run(context.Background(), intra.Spec{Ranks: 3, Replicas: 2}, func(p *intra.Process) error {
		c := p.World()
		x := []int{c.Rank()}
		next, prev := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
		if _, err := comm.SendrecvReplace(c, x, next, 0, prev, 0); err != nil {
			return err
		}
		if c.Rank() == 0 && p.Replica() == 0 {
			fmt.Println(x)
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// [2]
	// <nil>
}

// All ranks get the sums over all ranks. A nil slice to send means that the receive
// buffer contains the elements.
func ExampleAllreduce() {
	err := intra.Run(context.Background(), intra.Spec{Ranks: 3, Replicas: 2}, func(p *intra.Process) error {
		c := p.World()
		v := []float64{1, float64(c.Rank())}
		err := comm.Allreduce(c, nil, v, comm.Sum)
		if c.Rank() == 0 && p.Replica() == 0 {
			fmt.Println(v)
		}
		return err
	})
	fmt.Println(err)
	// Output:
	// [3 3]
	// <nil>
}

func ExampleComm_Split() {
	c := comm.Self()
	half, err := c.Split(c.Rank()%2, c.Rank())
	fmt.Println(half.Size(), err)
	// Output: 1 <nil>
}

func ExampleView() {
	c := comm.Self()
	matrix := []int{
		1, 2, 3,
		4, 5, 6,
	}
	column := comm.View[int]{Data: matrix[2:], Count: 2, Block: 1, Stride: 3}
	if err := comm.SendView(c, column, 0, 0); err != nil {
		fmt.Println(err)
	}
	got := make([]int, 2)
	st, err := comm.Recv(c, got, 0, 0)
	fmt.Println(got, st.Count, err)
	// Output: [3 6] 2 <nil>
}
