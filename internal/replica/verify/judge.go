package verify

import "slices"

// compare checks whether all live replicas have the same results, and reruns the tasks in
// which they differ.
func (m *Machine) compare() {
	var disputed []int
	for p := range m.peers {
		if m.lives(p) && !m.hasResults(p) {
			return
		}
	}
	for i := range m.mine {
		for p := range m.peers {
			if m.lives(p) && m.peers[p].said[m.section].first[i] != m.mine[i].runs[0].Hash {
				disputed = append(disputed, i)
				break
			}
		}
	}
	if len(disputed) == 0 {
		m.result, m.equal = m.first(), true
		return
	}
	for _, i := range disputed {
		m.rerun(i, 2)
	}
	for _, i := range disputed {
		if len(m.mine[i].runs) < 2 {
			return
		}
	}
	if !m.again {
		m.again = true
		m.sayAgain(disputed)
	}
	for p := range m.peers {
		if m.lives(p) && m.peers[p].said[m.section].again == nil { // a peer reruns all tasks that any live replica disputes, and reports them in one message
			return
		}
	}
	m.decide(disputed)
}

// hasResults reports whether a peer has sent its first results to the replicas that are live
// now.
func (m *Machine) hasResults(p int) bool {
	s := m.peers[p].said[m.section]
	return s != nil && s.firstAt == m.deaths+1
}

// decide judges the disputed tasks by the reports of all live replicas.
func (m *Machine) decide(disputed []int) {
	r := m.first()
	r.Differed = disputed
	for _, i := range disputed {
		ballots := []Ballot{m.own(i)}
		for p := range m.peers {
			if m.lives(p) {
				ballots = append(ballots, m.theirs(p, i))
			}
		}
		if m.err = m.verdict(r, i, ballots); m.err != nil {
			return
		}
	}
	m.hold(r)
}

// judgeAlone judges each task when no peer is live. If no dead replica sent the same
// result, the task runs again, and once more if those runs differ.
func (m *Machine) judgeAlone() {
	r := m.first()
	for i := range m.mine {
		ballots := []Ballot{m.own(i)}
		for p := range m.peers {
			if p != m.me {
				if b := m.theirs(p, i); len(b.Runs) > 0 {
					ballots = append(ballots, b)
				}
			}
		}
		if slices.ContainsFunc(ballots, func(b Ballot) bool { return b.Runs[0].Hash != m.mine[i].runs[0].Hash }) || ballots[0].contradicts() {
			r.Differed = append(r.Differed, i)
		}
		if right, ok := judge(ballots); ok && right == m.mine[i].runs[0].Hash && !ballots[0].contradicts() {
			continue
		}
		m.rerun(i, 2)
		if m.mine[i].running {
			continue
		}
		if _, ok := judge(ballots); !ok && ballots[0].contradicts() {
			if m.rerun(i, 3); m.mine[i].running {
				continue
			}
			if right, ok := majority(ballots[0].Runs); ok {
				m.blame(r, i, right, ballots)
				continue
			}
		}
		if m.err = m.verdict(r, i, ballots); m.err != nil {
			return
		}
	}
	if !slices.ContainsFunc(m.mine, func(b ballot) bool { return b.running }) {
		m.result, m.equal = r, true
	}
}

// majority returns the result of at least two of three runs of one process.
func majority(runs []Run) (uint64, bool) {
	for i := range runs {
		for k := range i {
			if runs[i].Hash == runs[k].Hash {
				return runs[i].Hash, true
			}
		}
	}
	return 0, false
}

// verdict judges task i and records the outcome in r.
func (m *Machine) verdict(r *Result, i int, ballots []Ballot) error {
	slices.SortFunc(ballots, func(a, b Ballot) int { return a.Replica - b.Replica })
	if a, b := entriesDiffer(ballots); b != nil {
		if b.Replica == m.me {
			a, b = b, a
		}
		return &EntryDiffers{m.section, m.tasks[i], a.Replica, b.Replica, a.Entry, b.Entry}
	}
	right, ok := judge(ballots)
	if !ok { // a replica that was blamed before, but has not died yet, erred again
		right, ok = judge(slices.DeleteFunc(slices.Clone(ballots), func(b Ballot) bool { return m.peers[b.Replica].blamed }))
	}
	if !ok {
		return &Undecided{m.section, m.tasks[i], ballots}
	}
	m.blame(r, i, right, ballots)
	return nil
}

// blame records in r the right result of task i, and the replicas whose
// result differs from it.
func (m *Machine) blame(r *Result, i int, right uint64, ballots []Ballot) {
	r.Right[i] = right
	for k := range ballots {
		if run, wrong := ballots[k].wrong(right); wrong {
			r.Faulty = append(r.Faulty, Faulty{ballots[k].Replica, i, run.Core})
		}
	}
}
