package transport

// Size returns the length of a payload in bytes.
func Size(payload [][]byte) uint64 {
	n := uint64(0)
	for _, p := range payload {
		n += uint64(len(p))
	}
	return n
}

// Gather fills dst with the bytes of a payload that begin at offset from. The payload must
// hold at least from + len(dst) bytes.
func Gather(dst []byte, payload [][]byte, from int) {
	for _, p := range payload {
		if from >= len(p) {
			from -= len(p)
			continue
		}
		n := copy(dst, p[from:])
		if dst, from = dst[n:], 0; len(dst) == 0 {
			return
		}
	}
}
