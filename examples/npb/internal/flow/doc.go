// Package flow is what BT and SP have in common: the equations of a compressible gas
// in a cube, an exact solution of them, the time steps and their right-hand side, the
// verification of the result, and how ranks share the cube.
//
// A rank has slabs of the cube in two forms. Planes of equal z hold whole lines along
// x and y, and columns of equal y hold whole lines along z, so that each system of
// equations is solved on one rank, and any number of ranks up to that of the planes
// will do. (The originals hand systems on from rank to rank, and need a square number
// of them.) Between the two forms all ranks exchange all they have, twice a step.
package flow
