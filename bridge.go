package intra

import (
	"github.com/intrahpc/intra/internal/base/bridge"
)

func init() {
	bridge.At = func(position string) any { return posOption(position) }
	bridge.Results = func(section any) any { return &section.(*Section).results }
}
