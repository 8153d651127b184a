package main

import (
	"github.com/intrahpc/intra/examples/npb/internal/flow"
	"github.com/intrahpc/intra/examples/npb/internal/nas"
)

// problems are the classes.
var problems = map[nas.Class]flow.Problem{
	'S': {Points: 12, Steps: 100, Dt: 0.015, Norms: flow.Norms{
		Residual: flow.State{2.7470315451339479e-2, 1.0360746705285417e-2, 1.6235745065095532e-2, 1.5840557224455615e-2, 3.4849040609362460e-2},
		Error:    flow.State{2.7289258557377227e-5, 1.0364446640837285e-5, 1.6154798287166471e-5, 1.5750704994480102e-5, 3.4177666183390531e-5},
	}},
	'W': {Points: 36, Steps: 400, Dt: 0.0015, Norms: flow.Norms{
		Residual: flow.State{1.893253733584e-3, 1.717075447775e-4, 2.778153350936e-4, 2.887475409984e-4, 3.143611161242e-3},
		Error:    flow.State{7.542088599534e-5, 6.512852253086e-6, 1.049092285688e-5, 1.128838671535e-5, 1.212845639773e-4},
	}},
	'A': {Points: 64, Steps: 400, Dt: 0.0015, Norms: flow.Norms{
		Residual: flow.State{2.4799822399300195, 1.1276337964368832, 1.5028977888770491, 1.4217816211695179, 2.1292113035138280},
		Error:    flow.State{1.0900140297820550e-4, 3.7343951769282091e-5, 5.0092785406541633e-5, 4.7671093939528255e-5, 1.3621613399213001e-4},
	}},
	'B': {Points: 102, Steps: 400, Dt: 0.001, Norms: flow.Norms{
		Residual: flow.State{69.03293579998, 30.95134488084, 41.03336647017, 38.64769009604, 56.43482272596},
		Error:    flow.State{9.810006190188e-3, 1.022827905670e-3, 1.720597911692e-3, 1.694479428231e-3, 1.847456263981e-2},
	}},
	'C': {Points: 162, Steps: 400, Dt: 0.00067, Norms: flow.Norms{
		Residual: flow.State{588.1691581829, 245.4417603569, 329.3829191851, 308.1924971891, 459.7223799176},
		Error:    flow.State{0.2598120500183, 0.02590888922315, 0.05132886416320, 0.04806073419454, 0.5483377491301},
	}},
}

var program = flow.NewProgram("SP", problems,
	func(n float64) float64 { return 881.174*n*n*n - 4683.91*n*n + 11484.5*n - 19272.4 },
	func(b *flow.Benchmark) flow.Method { return waves{b} })

func main() { program.Main() }
