package simulation

import (
	"github.com/intrahpc/intra/internal/replica/section"
	"github.com/intrahpc/intra/update"
)

// onceCalls is the protocol of Once with the state of the program's calls.
type onceCalls struct {
	*section.Once
	wanted bool // the protocol orders this replica to run the function
}

// callOnce takes part in the next call of Once. f runs on one replica, and all replicas get
// its result.
func (p *process) callOnce(f func() []byte) ([]byte, error) {
	p.once.wanted = false
	p.performOnce(p.once.Enter())
	for {
		seen := p.changes
		if result, ok := p.once.Done(); ok {
			p.once.Leave()
			return result, nil
		}
		if p.err != nil {
			return nil, p.err
		}
		if p.once.wanted {
			p.once.wanted = false
			number := p.once.Number()
			result := f()
			if p.life.Err() != nil {
				return nil, errBack
			}
			p.performOnce(p.once.Result(p.self.Replica, number, result))
			continue
		}
		if err := p.waitUntil(0, func() bool { return p.changes != seen }); err != nil {
			return nil, err
		}
	}
}

// performOnce carries out the actions of the protocol of Once.
func (p *process) performOnce(acts []section.OnceAction) {
	for _, a := range acts {
		m := update.Message{Section: a.Number, Deaths: a.Deaths}
		switch a.Kind {
		case section.OnceRun:
			p.once.wanted = true
		case section.OnceSend:
			m.Kind = update.KindOnceResult
			p.post(a.Peer, m, [][]byte{a.Result})
		case section.OnceSayHave:
			m.Kind = update.KindOnceHave
			p.post(a.Peer, m, nil)
		case section.OnceAsk:
			m.Kind = update.KindOnceQuery
			p.post(a.Peer, m, nil)
		case section.OnceSayNone:
			m.Kind = update.KindOnceNone
			p.post(a.Peer, m, nil)
		}
	}
}

// takeOnce processes a message of the protocol of Once.
func (p *process) takeOnce(from int, m update.Message, payload []byte) {
	switch m.Kind {
	case update.KindOnceResult:
		p.performOnce(p.once.Result(from, m.Section, append([]byte(nil), payload...)))
	case update.KindOnceHave:
		p.once.Have(from, m.Section)
	case update.KindOnceQuery:
		p.performOnce(p.once.Query(from, m.Section, m.Deaths))
	case update.KindOnceNone:
		p.performOnce(p.once.None(from, m.Section, m.Deaths))
	}
}
