// Waits is a program whose ranks wrongly wait for each other, or whose replicas print
// different lines. Its first argument selects the case. Tests use it to check the reports
// of a job. A second argument names a file; the ranks begin once the file exists.
package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
)

// wrong are functions with wrong waits. All ranks of a job call the same one.
var wrong = map[string]func(c *comm.Comm) error{
	"barrier":  others(func(c *comm.Comm) error { return c.Barrier() }),
	"receive":  others(func(c *comm.Comm) error { return receive(c, 0) }),
	"any":      others(func(c *comm.Comm) error { return receive(c, comm.AnySource) }),
	"probe":    others(func(c *comm.Comm) error { _, err := c.Probe(0, 3); return err }),
	"ssend":    others(func(c *comm.Comm) error { return comm.Ssend(c, make([]int64, 1), 0, 3) }),
	"large":    others(func(c *comm.Comm) error { return comm.Send(c, make([]int64, 1<<20), 0, 3) }),
	"many":     others(many),
	"waitany":  others(waitAny),
	"anothers": anothers,
	"allreduce": func(c *comm.Comm) error {
		if c.Rank() == 0 {
			return c.Barrier()
		}
		v, err := comm.AllreduceValue(c, 1, comm.Sum)
		if err == nil {
			fmt.Println("sum", v)
		}
		return err
	},
	"root": func(c *comm.Comm) error {
		b := []int{c.Rank()}
		if err := comm.Bcast(c, b, c.Rank()%2); err != nil {
			return err
		}
		if err := c.Barrier(); err != nil {
			return err
		}
		fmt.Println("from the root", b)
		return nil
	},
	"length": func(c *comm.Comm) error {
		return comm.Allreduce(c, nil, make([]float64, 3+c.Rank()), comm.Sum)
	},
}

// cycles are functions in which ranks wait for each other, forever or for long.
var cycles = map[string]func(c *comm.Comm) error{
	"cycle": func(c *comm.Comm) error {
		if c.Rank() == 0 {
			return receive(c, 1)
		}
		return c.Barrier()
	},
	"ring":     func(c *comm.Comm) error { return receive(c, (c.Rank()+1)%c.Size()) },
	"itself":   func(c *comm.Comm) error { return receive(c, c.Rank()) },
	"ssends":   func(c *comm.Comm) error { return comm.Ssend(c, make([]int64, 1), 1-c.Rank(), 3) },
	"sends":    func(c *comm.Comm) error { return comm.Send(c, make([]int64, 1<<20), 1-c.Rank(), 3) },
	"waitanys": func(c *comm.Comm) error { return waitAnyOf(c, 1-c.Rank()) },
	"allany":   func(c *comm.Comm) error { return receive(c, comm.AnySource) },
	"goroutine": func(c *comm.Comm) error {
		d, err := c.Dup()
		if err != nil {
			return err
		}
		done := make(chan error)
		go func() { done <- receive(d, 1-c.Rank()) }()
		return <-done
	},
	"tags": func(c *comm.Comm) error { // the tags of the messages sent and received differ
		if err := comm.Send(c, make([]int64, 1), 1-c.Rank(), 7); err != nil {
			return err
		}
		return receive(c, 1-c.Rank())
	},
	"computes": late(compute),
	"sleeps":   late(time.Sleep),
	"forever":  late(func(time.Duration) { compute(time.Hour) }),
	"busy": func(c *comm.Comm) error { // another goroutine will send the awaited message
		d, err := c.Dup()
		if err != nil {
			return err
		}
		sent := make(chan error)
		go func() {
			time.Sleep(long)
			sent <- comm.Send(d, make([]int64, 1), 1-c.Rank(), 3)
		}()
		return errors.Join(receive(d, 1-c.Rank()), <-sent)
	},
}

// long is longer than the time after which the tests expect deadlocks to be found.
const long = 5 * time.Second

func compute(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
	}
}

// late makes rank 0 reach a barrier late.
func late(f func(time.Duration)) func(c *comm.Comm) error {
	return func(c *comm.Comm) error {
		if c.Rank() == 0 {
			f(long)
		}
		return c.Barrier()
	}
}

// others makes every rank except 0 call f. Rank 0 does not take part.
func others(f func(c *comm.Comm) error) func(c *comm.Comm) error {
	return func(c *comm.Comm) error {
		if c.Rank() == 0 {
			return nil
		}
		return f(c)
	}
}

func receive(c *comm.Comm, from int) error {
	_, err := comm.Recv(c, make([]int64, 1), from, 3)
	return err
}

// many sends more messages than are buffered for a rank that receives none.
func many(c *comm.Comm) error {
	for range 20_000 {
		if err := comm.Send(c, make([]int64, 128), 0, 3); err != nil {
			return err
		}
	}
	return nil
}

func waitAny(c *comm.Comm) error { return waitAnyOf(c, 0) }

func waitAnyOf(c *comm.Comm, from int) error {
	a, b := comm.Irecv(c, make([]int64, 1), from, 3), comm.Irecv(c, make([]int64, 1), from, 4)
	_, _, err := comm.WaitAny(a, b)
	return err
}

// anothers makes rank 0 send a message that no rank receives.
func anothers(c *comm.Comm) error {
	if c.Rank() == 0 {
		for to := 1; to < c.Size(); to++ {
			comm.Isend(c, make([]int64, 1<<20), to, 5)
		}
		return nil
	}
	return receive(c, 0)
}

// prints are functions whose replicas print different lines.
var prints = map[string]func(p *intra.Process){
	"same":    func(p *intra.Process) { fmt.Println("the same") },
	"replica": func(p *intra.Process) { fmt.Printf("begun\nreplica %d\nended\n", p.Replica()) },
	"more": func(p *intra.Process) {
		for i := range 10 + p.Replica() {
			fmt.Println(i)
		}
	},
}

// await waits until a file exists.
func await(file string) {
	for {
		if _, err := os.Stat(file); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// outlast are functions in which the last replica of rank 0 never ends, or ends much later
// than all others.
var outlast = map[string]func(p *intra.Process, last bool) error{
	"loop":   func(_ *intra.Process, last bool) error { return lastly(last, func() { compute(time.Hour) }) },
	"select": func(_ *intra.Process, last bool) error { return lastly(last, func() { select {} }) },
	"prints": func(_ *intra.Process, last bool) error {
		return lastly(last, func() {
			for range slowSteps {
				time.Sleep(slowStep)
				fmt.Fprintln(os.Stderr, "still here")
			}
		})
	},
	"receives": func(p *intra.Process, last bool) error {
		for range slowSteps {
			if p.Rank() == 1 {
				if err := comm.Send(p.World(), make([]int64, 1), 0, 3); err != nil {
					return err
				}
			} else if err := errors.Join(lastly(last, func() { time.Sleep(slowStep) }), receive(p.World(), 1)); err != nil {
				return err
			}
		}
		return nil
	},
}

// A slow replica takes longer for all steps together than the tests allow for a step that
// never ends, but less for each single step.
const slowSteps, slowStep = 12, time.Second

// lastly calls f only in the last replica.
func lastly(last bool, f func()) error {
	if last {
		f()
	}
	return nil
}

var taskEndless = intra.Register("waits.endless")

// endless are functions in which a task, or the function of Once, never ends on one
// replica.
var endless = map[string]func(p *intra.Process) error{
	"taskloops": func(p *intra.Process) error { return endlessTask(p, func() { compute(time.Hour) }) },
	"taskwaits": func(p *intra.Process) error { return endlessTask(p, func() { select {} }) },
	"oncewaits": func(p *intra.Process) error { _, err := intra.Once(p, func() (int, error) { select {} }); return err },
	"oncesleeps": func(p *intra.Process) error {
		_, err := intra.Once(p, func() (int, error) { time.Sleep(time.Hour); return 0, nil })
		return err
	},
}

func endlessTask(p *intra.Process, body func()) error {
	s := p.Section()
	for i := range 4 {
		out := make([]byte, 1)
		s.Launch(taskEndless, func() {
			if i == 0 {
				body()
			}
		}, intra.Out("out", out))
	}
	return s.End()
}

func main() {
	intra.Main(func(p *intra.Process) error {
		if print := prints[os.Args[1]]; print != nil {
			print(p)
			return nil
		}
		if len(os.Args) > 2 {
			await(os.Args[2])
		}
		if f := outlast[os.Args[1]]; f != nil {
			return f(p, p.Rank() == 0 && p.Replica() == 1)
		}
		if f := endless[os.Args[1]]; f != nil {
			return f(p)
		}
		do := wrong[os.Args[1]]
		if do == nil {
			do = cycles[os.Args[1]]
		}
		if do == nil {
			return fmt.Errorf("no way %q", os.Args[1])
		}
		return do(p.World())
	})
}
