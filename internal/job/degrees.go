package job

// Fit returns the degrees with which a job begins that may have from least to most replicas of
// each rank: as many as there are slots for, and at least least. They differ by one at most.
func Fit(ranks, least, most int, hosts []Host) []int {
	slots := 0
	for _, h := range hosts {
		slots += h.Slots
	}
	degrees := make([]int, ranks)
	for rank := range degrees {
		degrees[rank] = least
	}
	slots -= ranks * least
	for degree := least; degree < most && slots > 0; degree++ {
		for rank := range degrees {
			if slots > 0 {
				degrees[rank]++
				slots--
			}
		}
	}
	return degrees
}
