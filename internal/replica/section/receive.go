package section

import (
	"fmt"
	"slices"
	"time"
)

// Update identifies a frame that carries the results of one task.
type Update struct {
	Peer      int
	Section   uint64
	Task      int
	Tasks     int
	Signature uint64
	Size      int64
	// At is the time by the peer's clock at which the frame was made. Came is the time by
	// this replica's clock at which it was seen. 0: unknown.
	At, Came time.Duration
}

// Place is where the payload of an announced update is received.
type Place uint8

// The places for a payload.
const (
	Discard Place = iota // nowhere: the update is not needed
	Stage                // into a buffer, and applied when complete
	Into                 // into the memory of the task, which is reserved
)

// about reports whether a frame about that section concerns the open one.
func (m *Machine) about(section uint64) bool { return m.open && section == m.number }

// Announce decides where the payload of an update goes when its header has
// arrived. With inPlace it may reserve the memory of a task of the open section.
// Until Arrive or Torn, a reserved task does not run here, no other copy of it is
// accepted, and the section cannot be left.
func (m *Machine) Announce(u Update, inPlace bool) (Place, error) {
	m.note(u)
	open := m.about(u.Section)
	switch {
	case m.peers[u.Peer].dead, u.Section < m.number:
		return Discard, m.late(u)
	case !open:
		if !m.inbox.room(u.Peer, u.Size) {
			return Discard, nil
		}
		return Stage, nil
	}
	if err := m.agree(u.Peer, u.Task, u.Tasks, u.Signature); err != nil {
		return Discard, err
	}
	t := &m.tasks[u.Task]
	if t.state == ranHere || t.state == received || t.reserved >= 0 {
		return Discard, nil
	}
	if inPlace && t.state == todo {
		t.reserved = u.Peer
		m.refresh(u.Task)
		return Into, nil
	}
	return Stage, nil
}

// Arrive handles a complete update. token identifies its bytes in the actions that follow.
// If no action names the token, the machine keeps the bytes. placed means that they were
// received in place.
func (m *Machine) Arrive(u Update, token any, placed bool) ([]Action, error) {
	m.begin(m.now)
	m.note(u)
	open := m.about(u.Section)
	switch {
	case placed:
		m.met = true
		m.took(u.Peer, u.Task, u.At)
		t := &m.tasks[u.Task]
		t.reserved = -1
		t.state = received
		t.has[u.Peer] = true
		m.left--
		m.refresh(u.Task)
		return m.acts, nil
	case m.peers[u.Peer].dead, u.Section < m.number:
		m.acts = append(m.acts, Action{Kind: Drop, Token: token})
		return m.acts, m.late(u)
	case !open:
		if !m.inbox.put(u.Section, early{peer: u.Peer, task: u.Task, tasks: u.Tasks, sig: u.Signature, at: u.At, size: u.Size, token: token}) {
			m.acts = append(m.acts, Action{Kind: Drop, Token: token})
		}
		return m.acts, nil
	}
	if err := m.agree(u.Peer, u.Task, u.Tasks, u.Signature); err != nil {
		return m.acts, err
	}
	m.arrived(u.Peer, u.Task, u.At, token)
	return m.acts, nil
}

// arrived applies an update of the open section if it is still needed. An update that
// completes while the task runs here is discarded, because the body has already begun to
// write the same memory.
func (m *Machine) arrived(p, task int, at time.Duration, token any) {
	m.met = true
	m.took(p, task, at)
	t := &m.tasks[task]
	t.has[p] = true
	if t.state != todo || t.reserved >= 0 {
		m.acts = append(m.acts, Action{Kind: Drop, Token: token})
		return
	}
	t.state = received
	m.left--
	m.refresh(task)
	m.acts = append(m.acts, Action{Kind: Apply, Task: task, Peer: p, Token: token})
}

// Refused records that the payload of an announced update was discarded. Its sender has
// the result, but will not send it again.
func (m *Machine) Refused(u Update) {
	open := m.about(u.Section)
	switch {
	case u.Section < m.number:
	case open:
		m.tasks[u.Task].has[u.Peer] = true
		m.tasks[u.Task].skipped[u.Peer] = true
		m.setClaim(u.Peer, u.Task, claim{})
		m.refresh(u.Task)
	default:
		m.inbox.skip(u.Peer, u.Section)
	}
}

// Lost records that an update will not arrive: a broken connection lost it, whole or in
// part (after Torn). Its sender has the result and will not send it again. So its claim is
// void, and this replica may run the task even if a static schedule assigned it to the
// sender. Updates of other tasks still arrive.
func (m *Machine) Lost(u Update) error {
	m.note(u)
	open := m.about(u.Section)
	switch {
	case m.peers[u.Peer].dead || u.Section < m.number:
		return m.late(u)
	case open:
		if err := m.agree(u.Peer, u.Task, u.Tasks, u.Signature); err != nil {
			return err
		}
	}
	m.Refused(u)
	return nil
}

// Torn ends the reservation of a task whose update was only partially received.
// The caller must have restored the memory.
func (m *Machine) Torn(u Update) {
	open := m.about(u.Section)
	if open && m.tasks[u.Task].reserved == u.Peer {
		m.tasks[u.Task].reserved = -1
		m.refresh(u.Task)
	}
}

// Claimed records that a peer has started a task. If the section is not open yet,
// the claim counts from its entry.
func (m *Machine) Claimed(u Update, now time.Duration) error {
	m.begin(now)
	m.note(u)
	open := m.about(u.Section)
	switch {
	case m.peers[u.Peer].dead || u.Section < m.number:
		return m.late(u)
	case !open:
		m.inbox.put(u.Section, early{peer: u.Peer, task: u.Task, tasks: u.Tasks, sig: u.Signature, at: u.At, claim: true})
		return nil
	}
	if err := m.agree(u.Peer, u.Task, u.Tasks, u.Signature); err != nil {
		return err
	}
	m.claimedBy(u.Peer, u.Task, claim{since: m.peers[u.Peer].clock.here(u.At, m.now), at: u.At})
	return nil
}

// Entered records that a peer has reached a section. The peer sends nothing more about
// earlier ones.
func (m *Machine) Entered(u Update) error {
	m.note(u)
	open := m.about(u.Section)
	switch {
	case m.peers[u.Peer].dead || u.Section < m.number:
		return m.late(u)
	case open:
		return m.agree(u.Peer, u.Task, u.Tasks, u.Signature)
	}
	return nil
}

func (m *Machine) claimedBy(p, t int, c claim) {
	m.met = true
	if !m.tasks[t].has[p] {
		c.since = max(c.since, 1)
		m.setClaim(p, t, c)
		m.refresh(t)
	}
}

// setClaim records the claim of a task by p; an empty claim ends it.
func (m *Machine) setClaim(p, t int, c claim) {
	tk := &m.tasks[t]
	was, is := tk.claims[p].since > 0, c.since > 0
	tk.claims[p] = c
	switch {
	case is && !was:
		if tk.claimed++; tk.claimed == 1 {
			m.claims = append(m.claims, t)
		}
	case was && !is:
		if tk.claimed--; tk.claimed == 0 {
			i := slices.Index(m.claims, t)
			m.claims = slices.Delete(m.claims, i, i+1)
		}
	}
}

// took ends the claim of a task. p made its update at that time, by the clock of p.
func (m *Machine) took(p, t int, at time.Duration) {
	c := m.tasks[t].claims[p]
	if c.at > 0 && at >= c.at {
		if times := m.timesOf(t); times != nil {
			times.Took(p, at-c.at)
		}
	}
	m.setClaim(p, t, claim{})
}

func (m *Machine) note(u Update) {
	p := &m.peers[u.Peer]
	p.ahead = max(p.ahead, u.Section)
	p.seen = true
	if u.At > 0 && u.Came > 0 {
		p.clock.compare(u.At, u.Came)
	}
}

// late checks a frame about a section that this replica has left, against the signature of
// that section, as long as the signature is kept.
func (m *Machine) late(u Update) error {
	n := uint64(len(m.signatures))
	if u.Section < m.first || u.Section >= m.number || m.number-u.Section >= n || m.signatures[u.Section%n] == u.Signature {
		return nil
	}
	return &Divergence{Section: u.Section, Task: u.Task, Replica: m.me, Peer: u.Peer,
		Mine:   fmt.Sprintf("the section left had signature %016x", m.signatures[u.Section%n]),
		Theirs: fmt.Sprintf("%016x", u.Signature)}
}
