// Package fields is the grid half of the code: it computes the gradient of the potential in
// which the ions move from the charge of the ions. The steps are those of GTC. The density
// is closed at the seams, its average over each surface is subtracted, and it is smoothed.
// Then the gyrokinetic Poisson equation is solved, and the potential is smoothed. Finally
// its gradient is computed, with the zonal flow from the averages.
package fields
