// Package grid is the geometry of the gyrokinetic problem: the parameters of
// the plasma, the grid that follows field lines, what of it a rank owns, and
// the tables that depend on nothing else.
//
// The torus is cut into surfaces of constant minor radius, and each surface
// into points of constant poloidal angle at a given field line; the number of
// points grows with the radius. A rank owns planes 1 to Planes of its wedge of
// toroidal angles; plane 0 is the last one of the wedge before it. A field line
// that has gone around the torus comes back at another poloidal angle, so
// values that cross the seam at angle 0 are rotated.
//
// Units are those of GTC: lengths in the major radius, times in the gyration
// of a proton, masses and charges in those of the ion. Some constants are
// rounded to single precision, because those of GTC are and its published
// results show it.
package grid
