package statetwin

//intra:task out(x)
func zero(x []float64) {
	for i := range x {
		x[i] = 0
	}
}
