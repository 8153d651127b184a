package callsite_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/callsite"
)

func TestUserStack(t *testing.T) {
	const stack = `goroutine 22 [running]:
runtime/debug.Stack()
	/go/src/runtime/debug/stack.go:26 +0x5e
github.com/intrahpc/intra.guardTask.func1()
	/src/intra/section.go:150 +0x85
panic({0x6d5ce0?, 0xc000196030?})
	/go/src/runtime/panic.go:783 +0x132
main.(*Grid).relax(...)
	/home/me/heat/kernels.go:12
main.step.launchRelax.func2()
	/home/me/heat/kernels_intra.go:31 +0x2e
github.com/intrahpc/intra.guardTask(0xc000190000, 0xc00018c010)
	/src/intra/section.go:159 +0x4b
github.com/intrahpc/intra/internal/replica/engine.(*Section).Run(...)
	/src/intra/internal/replica/engine/section.go:52
main.main()
	/home/me/heat/main.go:20 +0x19
created by github.com/intrahpc/intra/internal/launch/localjob.start in goroutine 1
	/src/intra/internal/launch/localjob/job.go:90 +0x1d
`
	require.Equal(t, `main.(*Grid).relax
	/home/me/heat/kernels.go:12
main.step.launchRelax.func2
	/home/me/heat/kernels.go (line 31 of its generated twin)
main.main
	/home/me/heat/main.go:20
`, callsite.UserStack([]byte(stack)))
	const ours = "goroutine 1 [running]:\nruntime/debug.Stack()\n\t/go/src/runtime/debug/stack.go:26 +0x5e\n"
	require.Equal(t, ours, callsite.UserStack([]byte(ours)))
}
