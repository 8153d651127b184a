// Package fields is the grid half of the code: from the charge of the ions to
// the gradient of the potential in which they move. The steps are those of
// GTC: close the density at the seams and take its average over each surface
// out, smooth it, solve the gyrokinetic Poisson equation, smooth the potential,
// and take its gradient, with the zonal flow solved for from the averages.
package fields
