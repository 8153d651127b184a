package callsite_test

import (
	"fmt"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/callsite"
)

// launch is the call whose place the tests look up.
func launch(skip int) (s callsite.Site) {
	s.Mark(skip)
	return s
}

func place() string { return callsite.Here() }

func helper() callsite.Site { return launch(1) }

func TestSite(t *testing.T) {
	_, _, line, _ := runtime.Caller(0)
	here, above := launch(0), helper()
	want := fmt.Sprintf("callsite/callsite_test.go:%d", line+1)
	require.Equal(t, want, here.String())
	require.Equal(t, want, above.String())

	known := callsite.At("heat/add.go:12")
	require.Equal(t, "heat/add.go:12", known.String())
	known.Mark(0)
	require.NotEqual(t, "heat/add.go:12", known.String())

	func() {
		_, _, line, _ := runtime.Caller(0)
		require.Equal(t, fmt.Sprintf("callsite/callsite_test.go:%d", line+1), place())
	}()

	var none callsite.Site
	require.Equal(t, "unknown place", none.String())
}

// For generated code the place is the caller in the user's source, if there is one.
func TestGeneratedCode(t *testing.T) {
	_, _, line, _ := runtime.Caller(0)
	s := launcher()
	require.Equal(t, fmt.Sprintf("callsite/callsite_test.go:%d", line+1), s.String())
}

func inside(deep bool) string {
	if deep {
		return inside(false)
	}
	return callsite.Outside("github.com/intrahpc/intra/internal/base/callsite_test.inside")
}

// Functions of one package are skipped at any depth of calls.
func TestOutside(t *testing.T) {
	_, _, line, _ := runtime.Caller(0)
	require.Equal(t, fmt.Sprintf("callsite/callsite_test.go:%d", line+1), inside(true))
	require.Equal(t, "unknown place", callsite.Outside("nobody"))
}

type typed[T any] struct{}

func (typed[T]) call() (string, string) {
	return callsite.Into("github.com/intrahpc/intra/internal/base/callsite_test.typed")
}

// Into returns the name of the function that the user has called.
func TestInto(t *testing.T) {
	_, _, line, _ := runtime.Caller(0)
	function, at := typed[int]{}.call()
	require.Equal(t, "call", function)
	require.Equal(t, fmt.Sprintf("callsite/callsite_test.go:%d", line+1), at)
	function, _ = callsite.Into("nobody")
	require.Empty(t, function)
}

// If only a library has called the launcher, the place is in the source of the kernel. It
// is neither in the library nor in the output of intragen.
func TestLauncherThatALibraryCalls(t *testing.T) {
	done := make(chan string)
	go fromTwin(done) // only the Go runtime has called it
	require.Equal(t, "callsite/launch_test.go", <-done)
	go func() { defer close(done); fromTwin(done) }()
	require.Regexp(t, `^callsite/callsite_test\.go:\d+$`, <-done)
}

// A line of a twin is reported as the line of the source from which the twin was made.
func TestLinesOfTwin(t *testing.T) {
	_, file, _, _ := runtime.Caller(0)
	twin := filepath.Join(filepath.Dir(file), "launch_intra_test.go")
	callsite.AddLines(twin, "1:100 11:5 12:5 13:6")
	t.Cleanup(func() { callsite.AddLines(twin, "") })
	done := make(chan string)
	go fromTwin(done)
	require.Equal(t, "callsite/launch_test.go:5", <-done)
	s := launcher()
	require.Equal(t, "callsite/launch_test.go:107", s.String())
	require.Equal(t, fmt.Sprintf("main.launcher\n\t%s:33\n", filepath.Join(filepath.Dir(file), "launch_test.go")),
		callsite.UserStack(fmt.Appendf(nil, "goroutine 1 [running]:\nmain.launcher(...)\n\t%s:40 +0x1\n", twin)))
}
