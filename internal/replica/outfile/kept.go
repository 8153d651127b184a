package outfile

import "slices"

// kept holds the bytes that a replica keeps of a file: for each offset only the last bytes
// written. So writing the kept bytes again never restores older bytes, not even for a moment.
type kept struct {
	pieces []Piece
	end    int64 // no piece ends after it
}

// add keeps a copy of p.
func (k *kept) add(p Piece) {
	if len(p.Data) == 0 {
		return
	}
	if p.Offset < k.end {
		k.remove(p.Offset, p.end())
	}
	if n := len(k.pieces); n > 0 && k.pieces[n-1].end() == p.Offset { // a record that follows the last one
		last := &k.pieces[n-1]
		last.Data = append(last.Data, p.Data...)
	} else {
		k.pieces = append(k.pieces, Piece{p.Offset, slices.Clone(p.Data)})
	}
	k.end = max(k.end, p.end())
}

// remove forgets the bytes from offset lo to hi.
func (k *kept) remove(lo, hi int64) {
	left := make([]Piece, 0, len(k.pieces)+1)
	for _, p := range k.pieces {
		if p.end() <= lo || p.Offset >= hi {
			left = append(left, p)
			continue
		}
		if n := lo - p.Offset; n > 0 { // limit the capacity, because add may append to the piece
			left = append(left, Piece{p.Offset, p.Data[:n:n]})
		}
		if n := p.end() - hi; n > 0 {
			left = append(left, Piece{hi, p.Data[int64(len(p.Data))-n:]})
		}
	}
	k.pieces = left
}

// cutOff forgets the bytes at offset size and beyond.
func (k *kept) cutOff(size int64) {
	if size < k.end {
		k.remove(size, k.end)
		k.end = size
	}
}
