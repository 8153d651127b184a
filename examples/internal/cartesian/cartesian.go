// Package cartesian numbers the points and ranks of three-dimensional grids, x
// fastest, and finds a grid for a number of ranks.
package cartesian

// Shape returns the grid of size ranks with the least surface. It is as cubic as possible,
// and its longest side is in x.
func Shape(size int) (best [3]int) {
	least := 0
	for z := 1; z*z*z <= size; z++ {
		for y := z; y*y*z <= size; y++ {
			x := size / (y * z)
			if area := x*y + y*z + x*z; x*y*z == size && (least == 0 || area < least) {
				least, best = area, [3]int{x, y, z}
			}
		}
	}
	return best
}

// Flat returns the grid of size ranks in one plane with the least circumference. It is as
// square as possible, and its longest side is in x.
func Flat(size int) [3]int {
	y := 1
	for n := 1; n*n <= size; n++ {
		if size%n == 0 {
			y = n
		}
	}
	return [3]int{size / y, y, 1}
}

// Split returns the position of the point, or of the rank, with this number.
func Split(n [3]int, number int) [3]int {
	return [3]int{number % n[0], number / n[0] % n[1], number / n[0] / n[1]}
}

// Join is the inverse of Split.
func Join(n, place [3]int) int { return place[0] + n[0]*(place[1]+n[1]*place[2]) }
