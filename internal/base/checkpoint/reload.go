package checkpoint

import "slices"

// Reload restores the variables from im, an image of this state. It does not write to
// variables that have not changed.
func (s *State) Reload(im *Image) error {
	now, err := s.Image()
	if err != nil {
		return err
	}
	for i := range s.vars {
		a, b := now.vars[i].chunks, im.vars[i].chunks
		if slices.EqualFunc(a, b, slices.Equal[[]byte]) {
			continue
		}
		if err := s.vars[i].restore(im, s.Alloc); err != nil {
			return err
		}
	}
	return nil
}
