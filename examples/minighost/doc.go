// Minighost is the halo-exchange proxy miniGhost, written for Intra. In each time step
// every point of several grids becomes the mean of itself and its neighbours, by a stencil
// of 5 or 9 points in the plane, or of 7 or 27 in space. A grid has nx × ny × nz points per
// rank; outside of the domain everything is zero.
//
// Neighbours exchange the faces of their grids, for all variables at once (bspma) or for
// one after another (svaf). The part of a point's value that goes to neighbours outside of
// the domain is lost. So the sum of a grid and of all its losses is constant, which every
// step checks. The bits of the grids do not depend on the division of the domain, nor on
// the number of tasks.
//
// Stencils, sums, and the faces that lose something are tasks.
//
//	intrarun -n 2 -r 2 ./examples/minighost -stencil 3d27 -nx 128 -ny 128 -nz 64
//	intrarun -n 4 -r 2 -kill 1.0@update:500 ./examples/minighost -comm svaf -json
package main
