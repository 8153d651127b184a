package moved

import intraruntime "github.com/intrahpc/intra/runtime"

var at = intraruntime.At("moved.go:7")
