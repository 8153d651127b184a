package engine

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProgramRuns(t *testing.T) {
	const wait = "github.com/intrahpc/intra/transport.(*Poller).wait(0xc0)\n\t/src/poller.go:160 +0x1\n" +
		"github.com/intrahpc/intra/comm.(*Comm).recv(0xc0)\n\t/src/p2p.go:80 +0x1\nmain.main.func1(0xc0)\n\t/heat/main.go:10 +0x1\n" +
		"github.com/intrahpc/intra/internal/replica/engine.(*Engine).run(0xc0)\n\t/src/live.go:90 +0x1\n"
	for _, c := range []struct {
		name, state, frames string
		runs                bool
	}{
		{"in a receive", "select, 2 minutes", wait, false},
		{"in a receive, just looking", "running", wait, false},
		{"computes", "runnable", "main.relax(...)\n\t/heat/main.go:5\nmain.main.func1(0xc0)\n\t/heat/main.go:10 +0x1\n", true},
		{"computes in a kernel of ours", "running", "github.com/intrahpc/intra/kernels.dotAVX512(0xc0)\n\t/src/dot.s:5\nmain.main()\n\t/heat/main.go:5\n", true},
		{"computes in an example", "running", "github.com/intrahpc/intra/examples/hpccg/mesh.Fill(0xc0)\n\t/src/mesh.go:5\n", true},
		{"runs a task", "running", "main.relax(...)\n\t/heat/main.go:5\ngithub.com/intrahpc/intra/internal/replica/engine.(*worker).body(0xc0)\n\t/src/worker.go:5\n", true},
		{"reads a file", "syscall", "syscall.Syscall(0x0)\n\t/go/asm.s:5 +0x5\nos.(*File).Read(0xc0)\n\t/go/file.go:1\nmain.load(0xc0)\n\t/heat/main.go:5\n", true},
		{"listens", "IO wait", "internal/poll.runtime_pollWait(0x0)\n\t/go/netpoll.go:5 +0x5\nnet/http.(*Server).Serve(0xc0)\n\t/go/server.go:1\nmain.main.gowrap1()\n\t/heat/main.go:5\n", true},
		{"sleeps", "sleep, locked to thread", "time.Sleep(0x0)\n\t/go/time.go:5\nmain.main()\n\t/heat/main.go:5\n", true},
		{"waits for others of its own", "sync.WaitGroup.Wait, 3 minutes", "sync.(*WaitGroup).Wait(0xc0)\n\t/go/wg.go:5\nmain.main()\n\t/heat/main.go:5\n", false},
		{"waits for ever", "select (no cases)", "main.main()\n\t/heat/main.go:5\n", false},
		{"package of the module", "running", "heat/grid.(*Grid).Step(0xc0)\n\t/heat/grid.go:5\n", true},
		{"package of another module", "running", "gonum.org/v1/gonum/mat.(*Dense).Mul(0xc0)\n\t/gonum/mul.go:5\n", true},
		{"of Go itself", "GC worker (idle)", "runtime.gopark(0x0)\n\t/go/proc.go:5\nruntime.gcBgMarkWorker(0x0)\n\t/go/mgc.go:5\ncreated by main.main in goroutine 1\n\t/heat/main.go:5\n", false},
		{"in a section", "running", "github.com/intrahpc/intra.(*Section).End(0xc0)\n\t/src/section.go:5\nmain.main()\n\t/heat/main.go:5\n", false},
		{"of ours", "IO wait", "internal/poll.runtime_pollWait(0x0)\n\t/go/netpoll.go:5\ngithub.com/intrahpc/intra/internal/job.(*Session).read(0xc0)\n\t/src/session.go:5\n", false},
	} {
		all := "goroutine 1 [" + c.state + "]:\n" + c.frames
		require.Equal(t, c.runs, programRuns(all, "heat"), c.name)
		require.Equal(t, c.runs, programRuns("goroutine 7 [select]:\n"+wait+"\n"+all, "heat"), c.name)
	}
	require.False(t, programRuns("", "heat"))
	require.True(t, programRuns(string(stacks())+"\n\ngoroutine 9 [running]:\nmain.f()\n", ""), "it reads real ones")
	require.True(t, strings.HasPrefix(string(stacks()), "goroutine "))
}
