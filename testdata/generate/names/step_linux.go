//go:build !intra && (amd64 || arm64) && !race

package names

import "github.com/intrahpc/intra"

func step(p *intra.Process, x, y, z []int) {
	//intra:section on(p)
	{
		double(x, y)
		triple(x, z)
	}
}
