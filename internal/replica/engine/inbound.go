package engine

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/transport"
)

// inbound assembles a state that one process sends.
type inbound struct {
	id       transferID
	assembly *checkpoint.Assembly
}

// stateReceiver receives the frames with state from one process.
type stateReceiver struct {
	*recovering
	from job.Process
	came map[uint32]*inbound // by stream; each stream carries one state
}

// Begin implements transport.Receiver. It provides no memory: End copies each chunk.
func (r *stateReceiver) Begin(*transport.Header) []byte { return nil }

// Torn implements transport.Receiver.
func (r *stateReceiver) Torn(*transport.Header, int) {}

// Lost implements transport.Receiver.
func (r *stateReceiver) Lost(*transport.Header) {}

// Closed implements transport.Receiver.
func (r *stateReceiver) Closed(error) {}

// End implements transport.Receiver.
func (r *stateReceiver) End(h *transport.Header, payload []byte) {
	l := transferIDOf(h)
	if l.kind < transferJoin || l.kind > transferBack || l.rank >= len(r.setup.Degrees) {
		r.broken(fmt.Errorf("from %v: %w: a frame with state for %d of rank %d", r.from, errPosition, l.kind, l.rank))
		return
	}
	switch h.Kind {
	case frameBegin:
		if r.came == nil {
			r.came = make(map[uint32]*inbound)
		}
		// A new state for this joiner replaces an unfinished one. All other states are
		// completed, unless their sender dies.
		maps.DeleteFunc(r.came, func(_ uint32, in *inbound) bool { return l.kind == transferJoin && in.id.kind == transferJoin })
		r.came[l.stream] = &inbound{id: l, assembly: checkpoint.NewAssembly(nil)}
		if l.kind == transferJoin && len(payload) == 8 {
			r.arriving.begin(binary.LittleEndian.Uint64(payload))
		}
		return
	case frameChunk, frameEnd:
	default:
		r.broken(fmt.Errorf("from %v: %w: kind %d", r.from, errPosition, h.Kind))
		return
	}
	in := r.came[l.stream]
	if in == nil || in.id.kind != l.kind || in.id.rank != l.rank {
		r.broken(fmt.Errorf("from %v: %w: state without a beginning", r.from, errPosition))
		return
	}
	if h.Kind == frameChunk {
		err := in.assembly.Put(checkpoint.Key{Var: uint32(h.Args[4]), Index: uint32(h.Args[5])}, slices.Clone(payload))
		if err != nil {
			r.broken(fmt.Errorf("from %v: %w", r.from, err))
			return
		}
		if l.kind == transferJoin {
			r.arriving.has(in.assembly.Bytes())
			r.faults.Step(job.KillJoin, "receive")
		} else if l.kind == transferBackup {
			r.faults.Step(job.KillBackup, "receive")
		}
		return
	}
	delete(r.came, l.stream)
	s, err := finish(in.assembly, payload)
	if err != nil {
		r.broken(fmt.Errorf("from %v: the state of rank %d: %w", r.from, l.rank, err))
		return
	}
	r.arrived(l, s)
}

func finish(a *checkpoint.Assembly, end []byte) (stateCopy, error) {
	manifest, at, ok := cutBytes(end)
	if !ok {
		return stateCopy{}, errPosition
	}
	m, err := checkpoint.ParseManifest(manifest)
	if err != nil {
		return stateCopy{}, err
	}
	im, err := a.Finish(m)
	if err != nil {
		return stateCopy{}, err
	}
	return stateCopy{im, slices.Clone(at), newUse()}, nil
}
