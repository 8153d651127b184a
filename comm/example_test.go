package comm_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/inproc"
	"github.com/intrahpc/intra/transport/sdr"
)

// Every rank sends its number to the next one; messages are received by
// wildcard and stored by source.
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

// Two ranks over a link of the caller's. Programs that intrarun starts get
// their communicator from package runtime.
func ExampleWorld() {
	links := [2]transport.Link{}
	links[0], links[1] = inproc.Pair()
	var done sync.WaitGroup
	for rank, link := range links {
		poller := transport.NewPoller()
		engine := sdr.NewEngine(sdr.Config{Rank: rank, Degrees: []int{1, 1}, Poller: poller,
			Link: func(int, int) transport.Link { return link }})
		link.Start(engine.Receiver(1-rank, 0))
		poller.Add(link)
		done.Go(func() {
			defer link.Close()
			c, err := comm.World(engine)
			if err != nil {
				fmt.Println(err)
				return
			}
			sum, err := comm.AllreduceValue(c, rank+1, comm.Sum)
			if err == nil {
				err = engine.Drained(context.Background())
			}
			if rank == 0 {
				fmt.Println(sum, err)
			}
		})
	}
	done.Wait()
	// Output: 3 <nil>
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

func ExampleAllreduce() {
	c := comm.Self()
	v := []float64{1, 2}
	err := comm.Allreduce(c, nil, v, comm.Sum)
	fmt.Println(v, err)
	// Output: [1 2] <nil>
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
