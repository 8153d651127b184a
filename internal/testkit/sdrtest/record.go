package sdrtest

import (
	"bytes"
	"fmt"
	"maps"
)

// Record holds the decisions that a process has made or received about the order of
// messages. Package sdr counts decisions from the last cut on. Record counts them from the
// beginning of the job.
type Record struct {
	replays bool
	given   map[recordPlace]uint64 // numbers of this kind that the program has reached so far
	base    map[recordPlace]uint64 // value of given at the last cut
	values  map[recordKey][]byte
	err     error
}

type recordPlace struct{ context, kind uint64 }

type recordKey struct {
	recordPlace
	number uint64
}

func newRecord() *Record {
	return &Record{given: make(map[recordPlace]uint64), base: make(map[recordPlace]uint64), values: make(map[recordKey][]byte)}
}

// Replay returns a Record that makes a process that runs alone carry out the decisions of r
// again.
func (r *Record) Replay() *Record {
	again := newRecord()
	again.replays, again.values = true, r.values
	return again
}

// Len returns the number of decisions.
func (r *Record) Len() int { return len(r.values) }

// Err returns an error about the first decision that was not carried out as recorded.
func (r *Record) Err() error {
	if r == nil {
		return nil
	}
	return r.err
}

// Differ returns an error if two replicas of a rank have carried out different decisions.
func (r *Record) Differ(o *Record) error {
	for _, x := range []struct{ a, b *Record }{{r, o}, {o, r}} {
		for key, value := range x.a.values {
			if other, ok := x.b.values[key]; !ok || !bytes.Equal(value, other) {
				return fmt.Errorf("decision %+v is %x at one replica and %x at another one", key, value, other)
			}
		}
	}
	return nil
}

// atCut returns the Record with which a process begins at the present cut.
func (r *Record) atCut() *Record {
	if r == nil {
		return nil
	}
	return &Record{given: maps.Clone(r.given), base: maps.Clone(r.given), values: maps.Clone(r.values), err: r.err}
}

// Number implements sdr.Recorder.
func (r *Record) Number(context, kind, number uint64) []byte {
	place := recordPlace{context, kind}
	r.given[place] = r.base[place] + number + 1
	if !r.replays {
		return nil
	}
	return r.values[recordKey{place, number}]
}

// Decided implements sdr.Recorder.
func (r *Record) Decided(context, kind, number uint64, value []byte) {
	place := recordPlace{context, kind}
	key := recordKey{place, r.base[place] + number}
	switch old, ok := r.values[key]; {
	case r.err != nil:
	case ok && !bytes.Equal(old, value):
		r.err = fmt.Errorf("decision %+v is %x, and was %x before", key, value, old)
	case !ok && r.replays:
		r.err = fmt.Errorf("decision %+v is %x, and the job has made none there", key, value)
	}
	if !r.replays {
		r.values[key] = bytes.Clone(value)
	}
}

// Replays implements sdr.Recorder.
func (r *Record) Replays() bool { return r.replays }
