package intra_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/intratest"
)

// calls are calls that all replicas of a rank must make.
var calls = map[string]func(p *intra.Process) error{
	"Once": func(p *intra.Process) error {
		_, err := intra.Once(p, func() (int, error) { return 1, nil })
		return err
	},
	"OnceBytes": func(p *intra.Process) error {
		_, err := intra.OnceBytes(p, func() ([]byte, error) { return nil, nil })
		return err
	},
	"SafePoint": func(p *intra.Process) error { return p.SafePoint() },
	"Section":   func(p *intra.Process) error { return p.Section().End() },
	"Send":      func(p *intra.Process) error { return comm.Send(p.World(), []int{1}, 0, 3) },
	"Isend":     func(p *intra.Process) error { _, err := comm.Isend(p.World(), []int{1}, 0, 3).Wait(); return err },
	"Irecv":     func(p *intra.Process) error { _, err := comm.Irecv(p.World(), []int{1}, 0, 3).Wait(); return err },
	"Barrier":   func(p *intra.Process) error { return p.World().Barrier() },
	"AllreduceValue": func(p *intra.Process) error {
		_, err := comm.AllreduceValue(p.World(), 1, comm.Sum)
		return err
	},
}

// insideTask makes a call in the body of a task, and returns its result.
func insideTask(call func(p *intra.Process) error) func(p *intra.Process) error {
	return func(p *intra.Process) error {
		s := p.Section()
		for i := range 2 {
			out := make([]byte, 1)
			s.Launch(taskBad, func() {
				if err := call(p); err != nil {
					panic(err)
				}
				out[0] = byte(i)
			}, intra.Out("out", out))
		}
		return s.End()
	}
}

// insideOnce makes a call in the function of Once.
func insideOnce(call func(p *intra.Process) error) func(p *intra.Process) error {
	return func(p *intra.Process) error {
		_, err := intra.Once(p, func() (int, error) { return 1, call(p) })
		return err
	}
}

// The body of a task and the function of Once run on one replica. So they must not make
// calls that all replicas have to make. The error names both places.
func TestCallsInTasksAndInOnceAreRefused(t *testing.T) {
	for name, call := range calls {
		for _, spec := range []intra.Spec{{Replicas: 1}, {Replicas: 2}, {Ranks: 2, Replicas: 2}} {
			t.Run(fmt.Sprint(name, " in Once ", spec.Ranks, spec.Replicas), func(t *testing.T) {
				r := intratest.Run(t, spec, insideOnce(call), intratest.Fails())
				require.ErrorContains(t, r.Err, name+" is called at intra/inside_test.go:")
				require.ErrorContains(t, r.Err, " in the function of the intra.Once called at intra/inside_test.go:")
				require.ErrorContains(t, r.Err, ": call it before or after")
			})
			t.Run(fmt.Sprint(name, " in a task ", spec.Ranks, spec.Replicas), func(t *testing.T) {
				r := intratest.Run(t, spec, insideTask(call), intratest.Fails())
				require.ErrorContains(t, r.Err, name+" is called at intra/inside_test.go:")
				require.ErrorContains(t, r.Err, " in task test.bad, launched at intra/inside_test.go:")
			})
		}
	}
}

// Such calls are also refused in tasks on the other workers of a process.
func TestCallsInTasksOfOtherWorkersAreRefused(t *testing.T) {
	r := intratest.Run(t, intra.Spec{Replicas: 2}, insideTask(calls["Barrier"]), intratest.Fails(), intratest.Threads(2))
	require.ErrorContains(t, r.Err, "Barrier is called at intra/inside_test.go:")
}

// Another goroutine of the program may communicate while a task runs.
func TestAnotherGoroutineCommunicatesDuringATask(t *testing.T) {
	intratest.Run(t, intra.Spec{Ranks: 2, Replicas: 2}, func(p *intra.Process) error {
		begun, sent := make(chan bool, 2), make(chan error)
		go func() {
			<-begun
			sent <- p.World().Barrier()
		}()
		var err error
		s := p.Section(intra.Replicate)
		s.Launch(taskBad, func() {
			begun <- true
			err = <-sent
		})
		return errors.Join(s.End(), err)
	})
}
