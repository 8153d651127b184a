package sdr

import (
	"slices"
)

// Context is the matching space of one communicator. It holds the streams of messages to
// and from each rank of the job, the posted receives, and the messages that arrived before
// their receive.
type Context struct {
	id     uint64
	exact  bool   // receives name the number of the message
	member []bool // per rank of the job; nil: all
	joined bool   // the program has joined it; before that it exists because of frames
	left   bool   // the program no longer uses it
	freed  bool   // another run of the program will not use it either
	out    []*outStream
	in     []*inStream
	domain *domain
	any    line // receives from any source, in posting order
	bound  int  // number of receives from any source that were bound to an offer and are not complete
	plans  int  // number of scripts under way, which will post more messages
	aside  int  // number of unmatched messages that are held back from receives from any source

	ordered
	claimed bool // a message may have been claimed, see matching.claimed
}

// ordered counts, since the last cut, what depends on the order of messages, see agreement.
type ordered struct {
	anyReceives uint64 // receives from any source that the program has posted
	questions   uint64 // questions that the program has asked
	acted       uint64 // questions after which the program has caught up, see matching.CatchUp
	run         uint64 // current run of receives from any source, see agree.go
	inRun       bool   // another receive from any source with runTag continues the run
	runTag      int
}

// key returns the key by which receives match a message.
func (ctx *Context) key(number uint64, tag int) uint64 {
	if ctx.exact {
		return number
	}
	return uint64(tag)
}

// outStream is the sequence of messages from this rank to one rank in one context. All
// replicas of a rank number their messages alike.
type outStream struct {
	ctx   *Context
	rank  int
	next  uint64
	kept  []*Message // not yet received by every live replica, in order of posting
	order []uint64   // the numbers of kept, including its gaps
	mixed bool       // the numbers do not ascend: collectives may be posted in any order
	gaps  int        // nil entries of kept
	acked []numbers  // per replica of the destination
	short uint64     // replicas whose process.short lists this stream
	later []numbers  // as acked, but for the time after a cut that the replica has passed and this process has not

	compared comparison
	again    map[uint64]contents // messages that an earlier run of the program has sent and this one has not; nil: none
}

// inStream is the sequence of messages from one rank in one context.
type inStream struct {
	ctx        *Context
	rank       int
	due        uint64              // next number to be matched; not used by exact contexts
	received   numbers             // numbers of the messages received as a whole
	unacked    int                 // messages received since the last acknowledgement to all
	unackedB   int                 // their size in bytes
	among      uint64              // live replicas of rank when others was determined
	others     uint64              // replicas in among that get acknowledgements: all but the one that serves this process
	live       map[uint64]*arrival // messages that are known and not whole, or whole and ahead of the due number
	posted     line                // receives from this source, in posting order
	unexpected line                // unmatched messages, in order of number (in exact contexts in order of arrival)
	before     uint64              // messages with lower numbers were sent before the cut that is being passed
	shown      uint64              // messages with lower numbers were seen by a probe, or precede one that was
	taken      uint64              // 1 + highest number that has completed a receive; 0: none
	newest     map[int]uint64      // per tag: place in posting order of the newest receive completed while other receives were bound
	sums       []received          // hashes to report
	asked      int                 // 1 + process that was asked to report when it has finished, or 0
	finished   bool                // the program of its rank has returned
	total      uint64              // number of messages that it has posted, if finished
}

// contexts holds the contexts of a process, by id and in order of creation.
type contexts struct {
	job       *job
	byID      map[uint64]*Context // nil value: closed
	order     []*Context          // the open ones, in order of creation
	used      bool                // the program has begun an operation, or looked for a message from any source
	over      []*Context          // freed contexts in which an operation has ended
	recent    *Context            // context that get has returned last, or nil
	bookmarks *Context            // context of the bookmarks of cuts
}

// get returns the state of a context, and creates it if it is new. It returns nil if
// the context has been closed.
func (t *contexts) get(id uint64, exact bool) *Context {
	if t.recent != nil && t.recent.id == id {
		return t.recent
	}
	ctx, known := t.byID[id]
	if !known {
		ctx = &Context{id: id, exact: exact, out: make([]*outStream, len(t.job.ranks)), in: make([]*inStream, len(t.job.ranks))}
		t.byID[id] = ctx
		t.order = append(t.order, ctx)
	}
	if ctx != nil {
		t.recent = ctx
	}
	return ctx
}

// ended records that an operation has ended in a context. If the context was freed, it may
// be over.
func (t *contexts) ended(ctx *Context) {
	if ctx.freed {
		t.over = append(t.over, ctx)
	}
}

func (t *contexts) outStream(ctx *Context, rank int) *outStream {
	s := ctx.out[rank]
	if s == nil {
		s = &outStream{ctx: ctx, rank: rank, acked: make([]numbers, t.job.ranks[rank].degree), later: make([]numbers, t.job.ranks[rank].degree)}
		ctx.out[rank] = s
	}
	return s
}

func (ctx *Context) inStream(rank int) *inStream {
	s := ctx.in[rank]
	if s == nil {
		s = &inStream{ctx: ctx, rank: rank, live: make(map[uint64]*arrival)}
		ctx.in[rank] = s
	}
	return s
}

// known returns the message with this number in live, or nil. live is usually empty.
func (s *inStream) known(number uint64) *arrival {
	if len(s.live) == 0 {
		return nil
	}
	return s.live[number]
}

// keep appends m to kept.
func (s *outStream) keep(m *Message) {
	s.compact()
	n := len(s.kept)
	s.mixed = n > 0 && (s.mixed || m.number <= s.order[n-1])
	m.stream, m.at = s, n
	s.kept, s.order = append(s.kept, m), append(s.order, m.number)
}

// compact closes the gaps of kept if they are at least half of it. The caller must not be
// iterating over kept.
func (s *outStream) compact() {
	if s.gaps == 0 || s.gaps*2 < len(s.kept) {
		return
	}
	n := 0
	for i, k := range s.kept {
		if k != nil {
			k.at = n
			s.kept[n], s.order[n] = k, s.order[i]
			n++
		}
	}
	clear(s.kept[n:])
	s.kept, s.order, s.gaps = s.kept[:n], s.order[:n], 0
}

// drop removes m from kept. The other messages keep their positions, so a loop over kept
// may drop messages.
func (s *outStream) drop(m *Message) {
	s.kept[m.at] = nil
	if s.gaps++; s.gaps == len(s.kept) {
		s.kept, s.order, s.gaps = s.kept[:0], s.order[:0], 0
	}
}

// span returns a range of kept that contains all messages whose numbers are at least low
// and less than high. It may also contain others.
func (s *outStream) span(low, high uint64) (from, to int) {
	if s.mixed {
		return 0, len(s.kept)
	}
	from, _ = slices.BinarySearch(s.order, low)
	to, _ = slices.BinarySearch(s.order[from:], high)
	return from, from + to
}

func (s *outStream) find(number uint64) *Message {
	from, to := s.span(number, number+1)
	for _, m := range s.kept[from:to] {
		if m != nil && m.number == number {
			return m
		}
	}
	return nil
}

// sent implements Engine.Sent.
func (t *contexts) sent() []uint64 {
	all := make([]uint64, len(t.job.ranks))
	for _, ctx := range t.order {
		for rank := range all {
			if s := ctx.out[rank]; s != nil && !ctx.exact && ctx.common(rank) {
				all[rank] += s.next
			}
		}
	}
	return all
}
