package agentlog

import (
	"slices"

	"github.com/intrahpc/intra/internal/job"
)

// replies holds exactly those replies of a process about recovery that a new head needs. T
// identifies a reply to the agent.
type replies[T any] struct {
	generation uint32   // generation of the last rollback order
	complete   uint64   // number of the last complete backup
	older      []uint64 // earlier complete backups that are still kept
	all        []reply[T]
}

type reply[T any] struct {
	reply job.Reply
	again T
}

// say records a reply.
func (s *replies[T]) say(r job.Reply, again T) {
	switch r.Kind {
	case job.ReplyCount, job.ReplyCopied: // answers to a request, which each head makes again
		return
	case job.ReplyStored:
		// A copy may be stored before the rollback order and reported after it. It is void
		// unless the job may roll back to it.
		if kept := s.kept(r.Number); !kept && (r.Number < s.complete || r.Generation < s.generation) {
			return
		}
	}
	s.drop(func(old *job.Reply) bool { return replaces(&r, old) })
	if r.Kind == job.ReplyStored {
		s.overwrite(r.Rank)
	}
	s.all = append(s.all, reply[T]{r, again})
}

// dead drops the replies about links to a process that is dead.
func (s *replies[T]) dead(p job.Process, incarnation uint32) {
	s.drop(func(old *job.Reply) bool {
		return old.Kind == job.ReplyLinked && old.Process == p && old.Incarnation == incarnation
	})
}

// kept reports whether the job may roll back to the backup with that number.
func (s *replies[T]) kept(number uint64) bool {
	return number == s.complete || slices.Contains(s.older, number)
}

// void reports whether a reply is about a copy to which the job can no longer roll back.
func (s *replies[T]) void(r *job.Reply) bool {
	copied := r.Kind == job.ReplyStored || r.Kind == job.ReplyReady && r.Generation < s.generation
	return copied && !s.kept(r.Number)
}

// replaces reports whether reply r makes the earlier reply old superfluous.
func replaces(r, old *job.Reply) bool {
	if r.Kind != old.Kind {
		return false
	}
	switch r.Kind {
	case job.ReplyLinked:
		return r.Process == old.Process && r.Incarnation == old.Incarnation // a slot may have two processes, one of which relieves the other
	case job.ReplySaved: // the failed write of a set may be reported before the write of the set before it
		return old.Set+1 < r.Set
	case job.ReplyStored:
		return r.Rank == old.Rank && r.Number == old.Number
	case job.ReplyReady: // it also confirms that the process holds a copy
		return r.Number == old.Number
	}
	return true
}

// overwrite makes room for another copy of a rank that is newer than the last complete backup known
// to the agent: if there are two such copies, it drops the older one. The agent keeps two because
// the process may already know that the older of the two backups is complete.
func (s *replies[T]) overwrite(rank int) {
	var numbers []uint64
	for _, old := range s.all {
		if old.reply.Kind == job.ReplyStored && old.reply.Rank == rank && old.reply.Number > s.complete {
			numbers = append(numbers, old.reply.Number)
		}
	}
	if len(numbers) > 1 {
		oldest := slices.Min(numbers)
		s.drop(func(old *job.Reply) bool {
			return old.Kind == job.ReplyStored && old.Rank == rank && old.Number == oldest
		})
	}
}

func (s *replies[T]) drop(is func(*job.Reply) bool) {
	s.all = slices.DeleteFunc(s.all, func(old reply[T]) bool { return is(&old.reply) })
}

// order handles an order to the process, which may make copies void.
func (s *replies[T]) order(o job.Order) {
	switch o.Kind {
	case job.OrderSettled, job.OrderAgain: // a successor must not answer again: the process has written more since
		s.drop(func(old *job.Reply) bool {
			return old.Alone() && old.Kind == job.ReplyKind(o.Kind) && old.Number == o.Number
		})
	case job.OrderComplete:
		if o.Number < s.complete {
			return
		}
		s.complete, s.older = o.Number, o.Older
		s.drop(func(old *job.Reply) bool { return s.void(old) && old.Number < s.complete })
	case job.OrderRollback:
		s.generation, s.complete, s.older = o.Generation, o.Number, o.Older
		s.drop(s.void)
	}
}

// list returns the messages to repeat, in the order in which the process sent them.
func (s *replies[T]) list() []T {
	all := make([]T, 0, len(s.all))
	for _, r := range s.all {
		all = append(all, r.again)
	}
	return all
}
