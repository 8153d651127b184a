// Package ions is the particle half of the code: it loads the ions, deposits their charge
// on the grid, moves them in the field, and sends those that leave a wedge to the next one.
// The work per ion is done in kernels. A section divides the ions into blocks.
//
// The method is the δf method: ions follow the motion of their centres of gyration in the
// whole field. Each ion carries a weight, its share of the difference between the
// distribution and the Maxwellian of the equilibrium. A step is of second order: the ions
// first move half a step, and then the whole step in the field at that point.
package ions
