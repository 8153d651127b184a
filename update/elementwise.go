package update

import "fmt"

// checkElements checks that all regions that a task writes have the same number of
// elements, if the task can run for some of them at a time.
func checkElements(regions []Region) error {
	for i := range regions {
		if regions[i].each == nil {
			continue
		}
		r := &regions[i]
		for k := range regions {
			if o := &regions[k]; o.Mode.Written() && o.Len() != r.Len() || o.Mode == Scratch && len(o.Mem) > 0 {
				return fmt.Errorf("%s(%s) has %d elements and %s(%s) %d: a task that is elementwise writes slices of one length, and has no scratch space", r.Mode, r.Name, r.Len(), o.Mode, o.Name, o.Len())
			}
		}
		return nil
	}
	return nil
}
