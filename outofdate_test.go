package intra_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/internal/base/bridge"
	"github.com/intrahpc/intra/runtime"
)

// TestOutOfDateLaunchersDoNotShare: the clauses in a build without the tag differ from
// those of its launchers. The program may run unreplicated, where each task runs at its
// launch, but not as one of several replicas.
func TestOutOfDateLaunchersDoNotShare(t *testing.T) {
	if intra.Tagged {
		t.Skip("this build ends the process at once: TestPrograms of cmd/intragen")
	}
	defer func() { bridge.OutOfDate = nil }()
	run := func(*intra.Process) error { return nil }
	const source = "package p\n\n//intra:task in(x)\nfunc f(x int) {}\n"
	runtime.Clauses("kernels_intra.go", source, "beefbeefbeefbeefbeefbeefbeefbeef")
	require.NoError(t, intra.Run(t.Context(), intra.Spec{Replicas: 1}, run))
	require.ErrorContains(t, intra.Run(t.Context(), intra.Spec{Replicas: 2}, run), "kernels_intra.go is out of date: run go generate")
}
