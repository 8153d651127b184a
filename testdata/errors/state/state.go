package state

import (
	"bytes"
	"sync/atomic"

	"github.com/intrahpc/intra"
)

//intra:state
type pointers struct {
	p      *intra.Process
	x      []float64
	names  []string
	table  map[int]float64
	events chan int
	f      func()
	next   *pointers
	inner  inner
	ptr    *inner
	rows   [][]float64
	buf    bytes.Buffer
	any    interface{ M() }
	count  atomic.Pointer[int]
}

type inner struct {
	name string
	x    []float64
}

//intra:state skip(y, x, x)
type misspelt struct{ x, z *int }

//intra:state skip x
type syntax struct{ x int }

//intra:state out(x)
type clause struct{ x int }

//intra:state skip(x)
type nothing struct{ x int }

//intra:state
type list []float64

//intra:state
type alias = inner

//intra:state
type taken struct{ x int }

// Protect is in the way.
func (t *taken) Protect() {}

//intra:state
type field struct{ Protect int }

//intra:state
func function() {}

//intra:state

type apart struct{ x int }

func local() {
	//intra:state
	type hidden struct{ x int }
	_ = hidden{}
}

// intra:state
type near struct{ x int }

//intra:stat
type nearer struct{ x int }

type embedded struct{ base }

//intra:state
type base struct{ x int }

//intra:state
type half struct {
	e embedded
	m map[int]int
}

func use(p *intra.Process, n *near) { n.Protect(p, "n") }
