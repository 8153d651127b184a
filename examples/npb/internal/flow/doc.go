// Package flow is the common part of BT and SP: the equations of a compressible gas in a
// cube, an exact solution of them, the time steps and their right-hand side, the
// verification of the result, and the division of the cube among ranks.
//
// A rank has slabs of the cube in two forms. Planes of equal z hold whole lines along x and
// y, and columns of equal y hold whole lines along z. So each system of equations is solved
// on one rank. The number of ranks may be any up to the number of planes. (In the originals
// the ranks pass systems on to other ranks, and need a square number of them.) To change
// between the two forms, all ranks exchange all of their data, twice a step.
package flow
