//go:build !intra

package main

import (
	"fmt"

	"github.com/intrahpc/intra"
)

func main() {
	intra.Main(run)
}

func run(p *intra.Process) error {
	u, v := make([]float64, 1000), make([]float64, 1000)
	u[0], u[999] = 1, 2
	for range 200 {
		//intra:section on(p)
		for lo, hi := range intra.Blocks(len(u), p.Tasks()) {
			diffuse(u, v, lo, hi)
		}
		u, v = v, u
	}
	var sum float64
	//intra:section on(p)
	for lo, hi := range intra.Blocks(len(u), p.Tasks()) {
		sum += heat(u[lo:hi])
	}
	fmt.Println(sum)
	return nil
}
