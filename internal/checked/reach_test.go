package checked

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/base/callsite"
	"github.com/intrahpc/intra/internal/replica/engine"
)

// The state of the runtime behind an argument, such as a communicator, changes by itself.
// So checked mode follows only memory of the program.
func TestStateOfTheRuntimeIsNotFollowed(t *testing.T) {
	for of, want := range map[reflect.Type]bool{
		reflect.TypeFor[comm.Comm]():    true,
		reflect.TypeFor[Section]():      true,
		reflect.TypeFor[sync.Mutex]():   true,
		reflect.TypeFor[bytes.Buffer](): false,
		reflect.TypeFor[atomic.Int64](): false, // a counter of the program
		reflect.TypeFor[io.Writer]():    false, // its value may belong to the program
		reflect.TypeFor[os.File]():      true,
		reflect.TypeFor[float64]():      false,
	} {
		require.Equal(t, want, foreign(of), of)
	}
}

// BenchmarkReach watches an argument in a section of 16 tasks. Each task has its own copy of
// the argument, as a launcher passes it.
func BenchmarkReach(b *testing.B) {
	type row = struct{ values []float64 } // an unnamed type, because named types of this package are not followed
	type table = struct {
		rows  []*row
		names map[string]int
	}
	matrix := make([][]float64, 1000)
	for i := range matrix {
		matrix[i] = make([]float64, 100)
	}
	tables := &table{names: map[string]int{}}
	for i := range 1000 {
		tables.rows = append(tables.rows, &row{make([]float64, 100)})
		tables.names[fmt.Sprint(i)] = i
	}
	for _, bb := range []struct {
		name     string
		argument func() any
	}{
		{"rows", func() any { return matrix }},
		{"table", func() any { return tables }},
		{"value", func() any { return *tables }},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s := &engine.Section{}
				c := (&Trial{layouts: make(layouts), leftovers: new(leftovers)}).Section(s, new(callsite.Site), nil)
				for i := range 16 {
					c.arguments = append(c.arguments, []argument{{"a", bb.argument()}})
					c.watchArguments(i, func() {}, func() {})
				}
			}
		})
	}
}
