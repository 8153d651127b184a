package moved

import (
	intra "github.com/intrahpc/intra/runtime" // want `github.com/intrahpc/intra/runtime is for generated code; import github.com/intrahpc/intra`
)

func run(p *intra.Process) error { return nil }
