// Gtc follows the ions of a tokamak plasma in the field that they make
// themselves: a gyrokinetic toroidal particle-in-cell code after GTC v2, written
// for Intra. It is the example that needs inout: particles are pushed in place, so a
// task that a failure has cut off must find its old input again.
//
// A step goes twice through smooth, field, push, shift, charge and Poisson. The
// charge of the ions and their motion are tasks over blocks of ions, shared by
// the replicas of a rank, and so are the iterations of the Poisson solver.
// Ranks divide the torus into wedges, and with -npartdom the ions of each
// wedge.
//
//	intrarun -n 2 -r 2 ./examples/gtc -micell 10
//	intrarun -n 2 -r 2 -kill 0.1@update:40 ./examples/gtc -json
//	intrarun -n 2 -r 1 ./examples/gtc -steps 40 -plot potential.png
package main
