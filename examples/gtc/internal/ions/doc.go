// Package ions is the particle half of the code: loading the ions, adding up
// their charge on the grid, moving them in the field, and passing those that
// leave a wedge to the next one. What runs per ion are kernels; a section
// cuts the ions into blocks.
//
// The method is the δf one: ions follow the motion of their centres of
// gyration in the whole field, and each carries a weight, its share of the
// distance of the distribution from the Maxwellian of the equilibrium. A step
// is of second order: half a step forward, then the whole one with the field
// found there.
package ions
