package agentlog

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

// A successor of the head learns of exactly those copies that the process may have to send.
func TestSuccessorGetsEveryCopy(t *testing.T) {
	stored := func(generation uint32, number uint64, rank int) job.Reply {
		return job.Reply{Kind: job.ReplyStored, Generation: generation, Number: number, Rank: rank}
	}
	complete := func(generation uint32, number uint64) job.Order {
		return job.Order{Kind: job.OrderComplete, Generation: generation, Number: number}
	}
	back := func(generation uint32, number uint64) job.Order {
		return job.Order{Kind: job.OrderRollback, Generation: generation, Number: number}
	}
	for _, test := range []struct {
		name string
		said []any // replies and orders, in the order in which they pass the agent
		want []job.Reply
	}{
		{"copies of the last complete backup and the next one", []any{stored(0, 2, 0), complete(0, 2), stored(0, 4, 0)},
			[]job.Reply{stored(0, 2, 0), stored(0, 4, 0)}},
		{"a copy from before the last complete backup", []any{stored(0, 2, 0), complete(0, 4)}, nil},
		{"a late report of a copy from before the last complete backup", []any{complete(0, 4), stored(0, 2, 0)}, nil},
		{"a copy newer than the backup of a rollback", []any{complete(0, 2), stored(0, 4, 0), back(1, 2)}, nil},
		{"a late report of a copy newer than the backup of a rollback", []any{complete(0, 2), back(1, 2), stored(0, 4, 0)}, nil},
		{"a copy of the backup of a rollback", []any{stored(0, 2, 0), back(1, 2)}, []job.Reply{stored(0, 2, 0)}},
		{"a late report of a copy of the backup of a rollback", []any{complete(0, 2), back(1, 2), stored(0, 2, 0)}, []job.Reply{stored(0, 2, 0)}},
		{"a late report of a copy of the backup of a second rollback", []any{back(1, 2), back(2, 2), stored(0, 2, 0), stored(1, 2, 1)},
			[]job.Reply{stored(0, 2, 0), stored(1, 2, 1)}},
		{"two newer copies, where only the process knows that the older one is complete", []any{complete(0, 2), stored(0, 2, 0), stored(0, 4, 0), stored(0, 6, 0)},
			[]job.Reply{stored(0, 2, 0), stored(0, 4, 0), stored(0, 6, 0)}},
		{"an answered request of a process that may run again alone", []any{job.Reply{Kind: job.ReplySettled, Number: 3}, job.Order{Kind: job.OrderSettled, Number: 3},
			job.Reply{Kind: job.ReplyAgain, Number: 3}, job.Order{Kind: job.OrderAgain, Number: 3}}, nil},
		{"a request that has yet to be answered", []any{job.Reply{Kind: job.ReplySettled, Number: 3}, job.Order{Kind: job.OrderSettled, Number: 3},
			job.Reply{Kind: job.ReplySettled, Number: 7}}, []job.Reply{{Kind: job.ReplySettled, Number: 7}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var s replies[job.Reply]
			for _, x := range test.said {
				switch x := x.(type) {
				case job.Reply:
					s.say(x, x)
				case job.Order:
					s.order(x)
				}
			}
			require.ElementsMatch(t, test.want, s.list())
		})
	}
}
