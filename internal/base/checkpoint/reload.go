package checkpoint

import "slices"

// Reload brings the variables back to what they were in im, an image of this
// state. Those that have not changed are not touched.
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
