// Gtc simulates the ions of a tokamak plasma in the field that they create: a gyrokinetic
// toroidal particle-in-cell code after GTC v2, written for Intra. It is the example that
// needs inout. Particles are pushed in place, so if a failure interrupts a task, the task
// must find its old input when it runs again.
//
// A step runs twice through smooth, field, push, shift, charge and Poisson. Charge and push
// are tasks over blocks of ions, which the replicas of a rank share. They also share the
// iterations of the Poisson solver. Ranks divide the torus into wedges, and with -npartdom
// they also divide the ions of each wedge.
//
//	intrarun -n 2 -r 2 ./examples/gtc -micell 10
//	intrarun -n 2 -r 2 -kill 0.1@update:40 ./examples/gtc -json
//	intrarun -n 2 -r 1 ./examples/gtc -steps 40 -plot potential.png
package main
