//go:build mpi && linux

package ccall

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"
)

func function(t testing.TB, name string) uintptr {
	libc, err := purego.Dlopen("libc.so.6", purego.RTLD_NOW)
	require.NoError(t, err)
	f, err := purego.Dlsym(libc, name)
	require.NoError(t, err)
	return f
}

// printer makes snprintf write numbers. It passes seven arguments, the last one on the
// stack.
type printer struct {
	call   Call
	text   [64]byte
	format [16]byte
}

func newPrinter(t testing.TB) *printer {
	p := &printer{format: [16]byte([]byte("%d %d %d %d\x00\x00\x00\x00\x00"))}
	p.call.Function = function(t, "snprintf")
	return p
}

func (p *printer) print(do func(*Call) int32, n int) string {
	p.call.Args = [MaxArgs]uintptr{
		uintptr(unsafe.Pointer(&p.text)), uintptr(len(p.text)), uintptr(unsafe.Pointer(&p.format)),
		uintptr(n), uintptr(n + 1), uintptr(n + 2), uintptr(n + 3),
	}
	return string(p.text[:do(&p.call)])
}

var ways = map[string]func(*Call) int32{"Short": (*Call).Short, "Long": (*Call).Long}

func TestArguments(t *testing.T) {
	for name, do := range ways {
		t.Run(name, func(t *testing.T) {
			p := newPrinter(t)
			require.Equal(t, "5 6 7 8", p.print(do, 5))
			c := &Call{Function: function(t, "abs"), Args: [MaxArgs]uintptr{uintptr(1<<64 - 3)}}
			require.EqualValues(t, 3, do(c))
			c = &Call{Function: function(t, "atoi"), Args: [MaxArgs]uintptr{uintptr(unsafe.Pointer(unsafe.StringData("-12\x00")))}}
			require.EqualValues(t, -12, do(c))
		})
	}
}

// Calls succeed while the stacks of their goroutines grow, the garbage collector runs, and
// threads are preempted and profiled.
func TestDisturbed(t *testing.T) {
	var profile bytes.Buffer
	require.NoError(t, pprof.StartCPUProfile(&profile))
	var stop atomic.Bool
	var disturbing, calling sync.WaitGroup
	disturbing.Go(func() {
		for !stop.Load() {
			runtime.GC()
		}
	})
	disturbing.Go(func() {
		for !stop.Load() {
			_ = syscall.Kill(os.Getpid(), syscall.SIGURG)
			time.Sleep(20 * time.Microsecond)
		}
	})
	var wrong atomic.Pointer[string]
	end := time.Now().Add(time.Second)
	var calls atomic.Int64
	for g := range 4 {
		calling.Go(func() {
			p := newPrinter(t)
			for n := g; time.Now().Before(end); n++ {
				if got := deep(p, n%50, n%1000); got != fmt.Sprint(n%1000, n%1000+1, n%1000+2, n%1000+3) {
					wrong.Store(&got)
				}
				calls.Add(1)
			}
		})
	}
	calling.Wait()
	stop.Store(true)
	disturbing.Wait()
	pprof.StopCPUProfile()
	require.Nil(t, wrong.Load())
	require.Greater(t, calls.Load(), int64(1000))
	require.NotEmpty(t, profile.Bytes())
}

// deep makes the call from a deeper stack frame, and allocates.
func deep(p *printer, levels, n int) string {
	var room [256]byte
	if levels > 0 {
		room[levels] = byte(n)
		s := deep(p, levels-1, n)
		runtime.KeepAlive(room)
		return s
	}
	return p.print((*Call).Short, n)
}

func BenchmarkCall(b *testing.B) {
	for name, do := range ways {
		b.Run(name, func(b *testing.B) {
			c := &Call{Function: function(b, "abs")}
			for b.Loop() {
				do(c)
			}
		})
	}
}
