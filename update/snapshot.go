package update

// Snapshot is a copy of memory from the start of a section. With it a task can run again
// after a torn update [INTRA, Algorithm 1, lines 31 and 38]. Take reuses its buffer.
type Snapshot struct {
	of   []byte
	copy []byte
}

// Take copies mem.
func (s *Snapshot) Take(mem []byte) {
	s.of = mem
	s.copy = append(s.copy[:0], mem...)
}

// Restore copies the memory back.
func (s *Snapshot) Restore() { copy(s.of, s.copy) }
