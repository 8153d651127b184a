package intra

import (
	"github.com/intrahpc/intra/internal/base/bridge"
)

func init() {
	bridge.Results = func(s any) any { return &s.(*Section).in.results }
}
