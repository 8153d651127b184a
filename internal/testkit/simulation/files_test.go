package simulation

import (
	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/job"
)

// write completes a file that is being written.
func (p *process) write() {
	f := p.writing[0]
	p.writing = p.writing[1:]
	r := job.Reply{Kind: job.ReplySaved, Number: f.cut, Set: f.set, Rank: f.rank}
	if p.w.random.IntN(10) == 0 {
		r.Text = "no space left on device"
	} else {
		r.File = &checkpoint.File{Rank: f.rank, Bytes: int64(f.cut)}
		if p.w.disk.sets[f.set] == nil {
			p.w.disk.sets[f.set] = make(map[int]*file)
		}
		p.w.disk.sets[f.set][f.rank] = f
	}
	p.reply(r)
	p.changed()
}

// disk holds data that survives a process: files, and the contents of frames that are not
// worth encoding.
type disk struct {
	endings map[uint64]ending
	last    uint64
	sets    map[uint64]map[int]*file // files written by each rank
	whole   map[uint64]bool          // complete sets
	given   map[uint64]bool          // abandoned sets
}

func newDisk() disk {
	return disk{endings: make(map[uint64]ending), sets: make(map[uint64]map[int]*file), whole: make(map[uint64]bool), given: make(map[uint64]bool)}
}

func (d *disk) stream() uint64 {
	d.last++
	return d.last
}

// file is the state of a rank in a set.
type file struct {
	set, cut uint64
	rank     int
	image    [][]byte
	at       *position
}

// save starts writing the state to a file of a set, in parallel to the
// computation.
func (p *process) save(number, set uint64) error {
	at, err := p.positionInCut(number)
	if err != nil {
		return err
	}
	f := &file{set: set, cut: number, rank: p.self.Rank, image: cloneImage(p.program.image()), at: at}
	p.pause()
	p.reach("save")
	p.writing = append(p.writing, f)
	return nil
}

// latest returns the last complete set of files, nil if there is none.
func (d *disk) latest(ranks int) *restart {
	var last *restart
	for set := range d.whole {
		r := &restart{files: make([]*file, ranks)}
		for rank, f := range d.sets[set] {
			r.files[rank], r.cut = f, f.cut
		}
		if last == nil || r.cut > last.cut {
			last = r
		}
	}
	return last
}
