package job

import "slices"

// Fit returns the degrees with which a job begins if each rank may have from least to most
// replicas. All slots of the hosts are used, except one for each spare. No rank gets fewer replicas
// than least. A rank with fewer replicas than another one gets more first.
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
