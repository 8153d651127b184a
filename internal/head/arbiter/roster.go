package arbiter

import (
	"errors"
	"fmt"
	"slices"

	"github.com/intrahpc/intra/internal/base/detect"
)

// ID names a node. 1 is the head that the user has started, and agents count from 2. 0 names
// no node.
type ID = detect.ID

// Head is the node that starts the job.
const Head ID = 1

// Peer is a node of the job.
type Peer struct {
	ID      ID     `json:"id"`
	Host    string `json:"host"`              // name of the machine, the same for the head and an agent on its host
	Address string `json:"address,omitempty"` // host:port of its socket
}

// ErrRoster marks an invalid list of nodes.
var ErrRoster = errors.New("invalid list of nodes")

// maxNodes bounds a roster, since members exchange beats with all nodes.
const maxNodes = 4096

func checkRoster(roster []Peer) error {
	if len(roster) == 0 || roster[0].ID != Head || len(roster) > maxNodes {
		return fmt.Errorf("%w: it must begin with node %d and name at most %d", ErrRoster, Head, maxNodes)
	}
	for i, p := range roster {
		if i > 0 && p.ID <= roster[i-1].ID {
			return fmt.Errorf("%w: node %d follows node %d", ErrRoster, p.ID, roster[i-1].ID)
		}
		if p.Host == "" {
			return fmt.Errorf("%w: node %d has no host", ErrRoster, p.ID)
		}
	}
	return nil
}

// Plan chooses the members: the head, and two agents on two further hosts. With fewer than
// three hosts the head is the only member, and its loss ends the job. The text informs the
// user which of these cases holds.
func Plan(roster []Peer) (members []ID, text string) {
	if len(roster) == 0 {
		return nil, ""
	}
	hosts := []string{roster[0].Host}
	members = []ID{roster[0].ID}
	for _, p := range roster[1:] {
		if len(members) < 3 && !slices.Contains(hosts, p.Host) {
			hosts, members = append(hosts, p.Host), append(members, p.ID)
		}
	}
	if len(members) < 3 {
		return members[:1], fmt.Sprintf("losing the head on %s ends the job: its decisions are kept on one host, "+
			"because the job has %d and surviving the loss takes 3", hosts[0], len(hosts))
	}
	return members, fmt.Sprintf("the job survives the loss of the head: its decisions are kept on %s, %s and %s",
		hosts[0], hosts[1], hosts[2])
}

// neighbours is the number of nodes on either side of a node, in the ring of all nodes, that
// watch it in addition to the members.
const neighbours = 1

// ring determines which nodes exchange beats. Members and former members exchange beats with
// all nodes, other nodes with those and with their neighbours,
// guests with members.
type ring struct {
	size    int
	place   map[ID]int
	members []ID
	former  []ID
	guests  []ID // nodes that have joined the running job, which are outside the ring
}

func newRing(roster []Peer, members []ID) *ring {
	r := &ring{size: len(roster), place: make(map[ID]int, len(roster)), members: slices.Clone(members)}
	for i, p := range roster {
		r.place[p.ID] = i
	}
	return r
}

func (r *ring) isMember(id ID) bool { return slices.Contains(r.members, id) }

func (r *ring) known(id ID) bool { return r.isMember(id) || slices.Contains(r.former, id) }

// setMembers replaces the members. The removed ones become former members.
func (r *ring) setMembers(members []ID) {
	for _, id := range r.members {
		if !slices.Contains(members, id) && !slices.Contains(r.former, id) {
			r.former = append(r.former, id)
		}
	}
	r.members = slices.Clone(members)
}

// meet reports whether two nodes exchange beats, and so watch each other.
func (r *ring) meet(a, b ID) bool {
	if r.isGuest(a) || r.isGuest(b) {
		return r.isMember(a) || r.isMember(b)
	}
	i, ok1 := r.place[a]
	j, ok2 := r.place[b]
	if !ok1 || !ok2 || a == b {
		return false
	}
	d := (i - j + r.size) % r.size
	return r.known(a) || r.known(b) || d <= neighbours || r.size-d <= neighbours
}
