package job

import "slices"

// Fit returns the degrees with which a job begins that may have from least to most replicas of
// each rank: as many as there are slots for, and at least least. A rank that has fewer than
// another one gets more first.
func Fit(least, most []int, hosts []Host, spares int) []int {
	slots := -spares
	for _, h := range hosts {
		slots += h.Slots
	}
	degrees := slices.Clone(least)
	for _, n := range degrees {
		slots -= n
	}
	for degree := 1; degree < slices.Max(most); degree++ {
		for rank := range degrees {
			if degrees[rank] == degree && degree < most[rank] && slots > 0 {
				degrees[rank]++
				slots--
			}
		}
	}
	return degrees
}
