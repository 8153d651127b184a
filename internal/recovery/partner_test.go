package recovery

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

// onHosts returns the head of a job in a cut that all processes have drained. The letters
// of word name the hosts of the processes, in order.
func onHosts(degrees []int, word string) *Head {
	hosts := make(map[job.Process]string)
	for i, p := range job.Processes(degrees) {
		hosts[p] = word[i : i+1]
	}
	h := NewHead(Config{Degrees: degrees, Backup: Policy{Every: 2}, Host: func(p job.Process) string { return hosts[p] }})
	for _, s := range h.replicas.slots {
		s.drained = true
	}
	return h
}

// TestPartners lists which processes hold the second copy of each rank's state.
func TestPartners(t *testing.T) {
	for _, c := range []struct {
		name    string
		degrees []int
		hosts   string
		dead    []job.Process
		want    string // the holder of each rank's copy
	}{
		{"each holds that of the rank before", []int{1, 1, 1}, "abc", nil, "[1.0 2.0 0.0]"},
		{"even if all are on one host", []int{1, 1, 1}, "aaa", nil, "[1.0 2.0 0.0]"},
		{"on another host", []int{1, 1, 1, 1}, "aabb", nil, "[2.0 3.0 0.0 1.0]"},
		{"rather than one with fewer copies", []int{1, 1, 1, 1}, "aaab", nil, "[3.0 3.0 3.0 0.0]"},
		{"by a second replica of the next rank", []int{1, 2, 1}, "aabb", nil, "[1.1 2.0 0.0]"},
		{"on another host than the replica that copies", []int{2, 1, 1}, "abab", nil, "[2.0 0.1 0.0]"},
		{"one copy each", []int{1, 2}, "abb", nil, "[1.0 0.0]"},
		{"by as few as can be, of each", []int{1, 1, 1, 2}, "aaabb", nil, "[3.0 3.1 3.0 0.0]"},
		{"not by the dead", []int{1, 2, 1}, "abbb", []job.Process{{Rank: 1}}, "[1.1 0.0 0.0]"},
		{"not by the other replica of the rank", []int{2, 1}, "aba", nil, "[1.0 0.1]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := onHosts(c.degrees, c.hosts)
			for _, p := range c.dead {
				h.replicas.of[p].status = empty
			}
			var holders []job.Process
			for rank, plan := range h.backups.take(2) {
				require.Equal(t, rank, plan.Source.Rank)
				holders = append(holders, plan.Holder)
			}
			require.Equal(t, c.want, fmt.Sprint(holders))
		})
	}
}

// TestPartnersOfCopiesThatAreRenewed requires that a process without a copy replaces a
// dead holder. It is on another host than the remaining holder.
func TestPartnersOfCopiesThatAreRenewed(t *testing.T) {
	for hosts, want := range map[string]map[int]job.Process{
		"aaaab": {1: proc0(3, 0), 2: proc0(0, 0)},
		"aaaaa": {1: proc0(2, 1), 2: proc0(0, 0)},
	} {
		h := onHosts([]int{1, 1, 2, 1}, hosts)
		h.backups.complete = &backup{number: 2}
		for rank := range 4 {
			h.backups.complete.copies = append(h.backups.complete.copies, []holder{
				{process: proc0(rank, 0), incarnation: 1, stored: true, source: true},
				{process: proc0((rank+1)%4, 0), incarnation: 1, stored: true},
			})
		}
		renewed := make(map[int]job.Process)
		for _, a := range h.Died(proc0(2, 0), 1, false, 0) {
			if a.Kind == Send && a.Order.Kind == job.OrderRenew {
				renewed[a.Order.Rank] = a.Order.Process
			}
		}
		require.Equal(t, want, renewed, hosts)
	}
}

// TestPartnersAreOnOtherHosts tests random jobs. The two holders of the state of a rank
// are on different hosts if some other rank has a process on another host.
func TestPartnersAreOnOtherHosts(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	apart := 0
	for range 3000 {
		degrees := make([]int, 2+r.IntN(4))
		for i := range degrees {
			degrees[i] = 1 + r.IntN(3)
		}
		all := job.Processes(degrees)
		word := make([]byte, len(all))
		for i := range word {
			word[i] = byte('a' + r.IntN(4))
		}
		h := onHosts(degrees, string(word))
		host := h.config.Host
		plan := h.backups.take(2)
		require.Len(t, plan, len(degrees))
		for rank, c := range plan {
			require.NotEqual(t, rank, c.Holder.Rank)
			can := false
			for _, p := range all {
				can = can || p.Rank != rank && host(p) != host(c.Source)
			}
			require.Equal(t, can, host(c.Source) != host(c.Holder), "rank %d of %v on %s: %v", rank, degrees, word, c)
			if can {
				apart++
			}
		}
	}
	require.Greater(t, apart, 3000)
}
