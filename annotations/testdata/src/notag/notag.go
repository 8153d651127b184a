package notag // want package:"effects"

import "github.com/intrahpc/intra"

func step(p *intra.Process) {
	//intra:section on(p) // want `a file with //intra:section needs the line //go:build !intra at its top` `//intra:section launches nothing`
	{
	}
}
