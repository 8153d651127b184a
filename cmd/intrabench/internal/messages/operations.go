package messages

import (
	"slices"

	"github.com/intrahpc/intra/comm"
)

// Operations between two ranks. Their time is that of one message.
const (
	Pingpong     = "pingpong"      // a message from rank 0 to rank 1 and one back
	AnySource    = "anysource"     // like Pingpong, but received from any source
	AnySourceRun = "anysource-run" // runLength messages from rank 0 to rank 1, received from any source, and one back
)

// runLength is the number of messages that rank 1 receives in AnySourceRun before it sends
// one.
const runLength = 100

// Case is an operation of one size.
type Case struct {
	Op string `json:"op"`
	N  int    `json:"n"` // bytes of a ping-pong, or float64s of a collective operation
}

// operation is an operation to measure. start returns the function that each process of c
// calls repeatedly.
type operation struct {
	name     string
	sizes    []int
	messages float64 // number of consecutive messages in a call, each of which counts
	start    func(c *comm.Comm, n int) func() error
}

var vectorSizes = []int{1, 128, 16384}

var operations = []operation{
	{Pingpong, nil, 2, pingpong(false, 1)},
	{AnySource, nil, 2, pingpong(true, 1)},
	{AnySourceRun, nil, runLength + 1, pingpong(true, runLength)},
	{"barrier", []int{0}, 1, func(c *comm.Comm, _ int) func() error { return c.Barrier }},
	{"bcast", vectorSizes, 1, vectors(func(c *comm.Comm, part, _, _ []float64) error { return comm.Bcast(c, part, 0) })},
	{"reduce", vectorSizes, 1, vectors(func(c *comm.Comm, part, _, to []float64) error {
		return comm.Reduce(c, part, to[:len(part)], comm.Sum, 0)
	})},
	{"allreduce", vectorSizes, 1, vectors(func(c *comm.Comm, part, _, to []float64) error {
		return comm.Allreduce(c, part, to[:len(part)], comm.Sum)
	})},
	{"allgather", vectorSizes, 1, vectors(func(c *comm.Comm, part, _, to []float64) error { return comm.Allgather(c, part, to) })},
	{"alltoall", vectorSizes, 1, vectors(func(c *comm.Comm, _, from, to []float64) error { return comm.Alltoall(c, from, to) })},
}

// operationNamed returns the operation of that name, or false.
func operationNamed(name string) (operation, bool) {
	i := slices.IndexFunc(operations, func(o operation) bool { return o.name == name })
	if i < 0 {
		return operation{}, false
	}
	return operations[i], true
}

// vectors returns an operation on a part of n elements, or on n elements of each rank.
func vectors(op func(c *comm.Comm, part, from, to []float64) error) func(*comm.Comm, int) func() error {
	return func(c *comm.Comm, n int) func() error {
		part, from, to := make([]float64, n), make([]float64, n*c.Size()), make([]float64, n*c.Size())
		return func() error { return op(c, part, from, to) }
	}
}

// pingpong sends some messages from rank 0 to rank 1, and then one back.
func pingpong(fromAny bool, there int) func(*comm.Comm, int) func() error {
	return func(c *comm.Comm, n int) func() error {
		buf, other := make([]byte, n), 1-c.Rank()
		from := other
		if fromAny {
			from = comm.AnySource
		}
		send := func() error { return comm.Send(c, buf, other, 0) }
		recv := func() error {
			_, err := comm.Recv(c, buf, from, 0)
			return err
		}
		first, then := send, recv
		if c.Rank() == 1 {
			first, then = recv, send
		}
		return func() error {
			for range there {
				if err := first(); err != nil {
					return err
				}
			}
			return then()
		}
	}
}

// CollectiveCases returns all collective operations, with several sizes.
func CollectiveCases() []Case {
	var cases []Case
	for _, o := range operations {
		for _, n := range o.sizes {
			cases = append(cases, Case{o.name, n})
		}
	}
	return cases
}

// PingpongCases returns messages of 1 to largest bytes.
func PingpongCases(largest int) []Case { return casesOf(Pingpong, largest) }

// AnySourceCases returns messages of 1 to largest bytes, received from any source. Each size
// is measured with an answer to every message, and in runs.
func AnySourceCases(largest int) []Case {
	return slices.Concat(casesOf(AnySource, largest), casesOf(AnySourceRun, largest))
}

func casesOf(op string, largest int) []Case {
	var cases []Case
	for n := 1; n < largest; n *= 8 {
		cases = append(cases, Case{op, n})
	}
	return append(cases, Case{op, largest})
}
