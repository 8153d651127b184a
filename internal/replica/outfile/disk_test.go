package outfile

import "slices"

// disk is the file system. It holds the versions of the file as the server has them.
type disk struct {
	files     map[int][]byte // by version: durable contents
	published []byte
}

// simHost is a host, with written pages that the server lacks.
type simHost struct {
	d     *disk
	dirty []dirtyPiece
}

type dirtyPiece struct {
	version int
	Piece
}

func put(file []byte, p Piece) []byte {
	if n := int(p.end()) - len(file); n > 0 {
		file = append(file, make([]byte, n)...)
	}
	copy(file[p.Offset:], p.Data)
	return file
}

// view returns the file as processes on the host see it.
func (h *simHost) view(version int) []byte {
	file := slices.Clone(h.d.files[version])
	for _, p := range h.dirty {
		if p.version == version {
			file = put(file, p.Piece)
		}
	}
	return file
}

// flush writes the first n dirty pieces to the server.
func (h *simHost) flush(n int) {
	for _, p := range h.dirty[:n] {
		h.d.files[p.version] = put(h.d.files[p.version], p.Piece)
	}
	h.dirty = h.dirty[n:]
}

// act carries out an action on version v.
func (h *simHost) act(a Action, v int) {
	switch a.Kind {
	case WriteAt:
		h.dirty = append(h.dirty, dirtyPiece{v, Piece{a.Piece.Offset, slices.Clone(a.Piece.Data)}})
	case Fsync:
		h.flush(len(h.dirty))
	case Truncate:
		h.flush(len(h.dirty)) // after truncation the kernel writes no older pages beyond the end
		if f := h.d.files[v]; int64(len(f)) > a.Size {
			h.d.files[v] = f[:a.Size:a.Size]
		}
	case Copy:
		f := h.view(v)
		h.d.files[a.Version] = slices.Clone(f[:min(int64(len(f)), a.Size)])
	case Rename:
		h.d.published = h.view(a.Version)
	}
}
