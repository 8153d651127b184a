// Package grid is the geometry of the gyrokinetic problem: the parameters of the plasma,
// the grid that follows field lines, the part of it that a rank owns, and the tables that
// depend on nothing else.
//
// The torus is divided into surfaces of constant minor radius, and each surface into points
// of constant poloidal angle at a given field line. The number of points grows with the
// radius. A rank owns planes 1 to Planes of its wedge of toroidal angles; plane 0 is the
// last plane of the previous wedge. A field line returns at another poloidal angle after a
// turn around the torus. So values that cross the seam at angle 0 are rotated.
//
// The units are those of GTC: the unit of length is the major radius, that of time is the
// gyration time of a proton, and masses and charges are relative to those of the ion. Some
// constants are rounded to single precision, because those of GTC are, which affects its
// published results.
package grid
