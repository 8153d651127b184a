package outfile

import "github.com/intrahpc/intra/internal/testkit/simdisk"

// act carries out an action on version v.
func act(h *simdisk.Host, a Action, v int) {
	switch a.Kind {
	case WriteAt:
		h.Write(v, a.Piece.Offset, a.Piece.Data)
	case Fsync:
		h.Fsync()
	case Truncate:
		h.Truncate(v, a.Size)
	case Copy:
		h.Copy(v, a.Version, a.Size)
	case Rename:
		h.Publish(a.Version)
	}
}
