package intra

import (
	"github.com/intrahpc/intra/internal/bridge"
	"github.com/intrahpc/intra/internal/reduce"
)

func init() {
	bridge.At = func(position string) any { return posOption(position) }
	bridge.Results = func(section any) *reduce.Results { return &section.(*Section).results }
}
