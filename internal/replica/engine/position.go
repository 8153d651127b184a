package engine

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/replica/section"
	"github.com/intrahpc/intra/transport/sdr"
)

// rankPosition is the position of a rank at a cut. It belongs to a saved state.
type rankPosition struct {
	Section section.Position `json:"section"`
	Point   uint64           `json:"point"`
	// Live lists the live processes, for a joiner.
	Live []job.Peer `json:"live,omitempty"`

	messages *sdr.Position
}

func (p *rankPosition) append(b []byte) ([]byte, error) {
	head, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encode a position: %w", err)
	}
	messages, err := p.messages.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("encode a position: %w", err)
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(head)))
	return append(append(b, head...), messages...), nil
}

var errPosition = errors.New("malformed position")

func parsePosition(b []byte) (*rankPosition, error) {
	head, b, ok := cutBytes(b)
	if !ok {
		return nil, errPosition
	}
	p := &rankPosition{messages: new(sdr.Position)}
	if err := json.Unmarshal(head, p); err != nil {
		return nil, fmt.Errorf("%w: %w", errPosition, err)
	}
	if err := p.messages.UnmarshalBinary(slices.Clone(b)); err != nil {
		return nil, fmt.Errorf("%w: %w", errPosition, err)
	}
	if p.Point == 0 {
		return nil, fmt.Errorf("%w: no safe point", errPosition)
	}
	return p, nil
}

// cutBytes splits a piece off b. The length of the piece precedes it.
func cutBytes(b []byte) (piece, rest []byte, ok bool) {
	if len(b) < 4 || uint64(len(b)-4) < uint64(binary.LittleEndian.Uint32(b)) {
		return nil, nil, false
	}
	n := binary.LittleEndian.Uint32(b)
	return b[4 : 4+n], b[4+n:], true
}
