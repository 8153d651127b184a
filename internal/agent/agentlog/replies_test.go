package agentlog

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

// A successor of the head receives every copy that the process may have to send, and no
// other one.
func TestASuccessorGetsEveryCopy(t *testing.T) {
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
		said []any // replies and orders, as they pass the agent
		want []job.Reply
	}{
		{"the last complete backup and the next", []any{stored(0, 2, 0), complete(0, 2), stored(0, 4, 0)},
			[]job.Reply{stored(0, 2, 0), stored(0, 4, 0)}},
		{"before the last complete one", []any{stored(0, 2, 0), complete(0, 4)}, nil},
		{"said late of one before the last complete one", []any{complete(0, 4), stored(0, 2, 0)}, nil},
		{"younger than where the job goes back to", []any{complete(0, 2), stored(0, 4, 0), back(1, 2)}, nil},
		{"said late of one that is younger than that", []any{complete(0, 2), back(1, 2), stored(0, 4, 0)}, nil},
		{"where the job goes back to", []any{stored(0, 2, 0), back(1, 2)}, []job.Reply{stored(0, 2, 0)}},
		{"said late of where the job goes back to", []any{complete(0, 2), back(1, 2), stored(0, 2, 0)}, []job.Reply{stored(0, 2, 0)}},
		{"said late of where it goes back to again", []any{back(1, 2), back(2, 2), stored(0, 2, 0), stored(1, 2, 1)},
			[]job.Reply{stored(0, 2, 0), stored(1, 2, 1)}},
		{"two of which the older is complete, as only the process knows", []any{complete(0, 2), stored(0, 2, 0), stored(0, 4, 0), stored(0, 6, 0)},
			[]job.Reply{stored(0, 2, 0), stored(0, 4, 0), stored(0, 6, 0)}},
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
