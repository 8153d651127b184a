package annotations

import (
	"go/token"
)

// sectionClause parses: "on" "(" name { "." name } ")" | "sched" "(" schedule ")" | "keep" .
func (p *clauseParser) sectionClause(args *SectionArgs) {
	name, ok := p.word()
	if !ok {
		p.errorf(p.off, "found %s, want on(process), sched(static|adaptive|replicate) or keep", p.found())
		return
	}
	at := p.off
	switch name {
	case "on":
		if args.On != nil {
			p.errorf(at, "clause on is there twice")
			return
		}
	case "sched":
		if args.Sched != "" {
			p.errorf(at, "clause sched is there twice")
			return
		}
	case "keep":
		if args.Keep {
			p.errorf(at, "clause keep is there twice")
			return
		}
		args.Keep = true
		p.next()
		p.static(at, args)
		return
	case "nowait":
		p.errorf(at, "clause nowait is gone: every section waits for its results; leave it out")
		return
	default:
		p.errorf(at, "unknown clause %q of //intra:section%s (want on, sched or keep)", name, didYouMean(name, []string{"on", "sched", "keep"}))
		return
	}
	p.next()
	if !p.expect(token.LPAREN, "after "+name) {
		return
	}
	if name == "sched" {
		p.schedule(args)
		return
	}
	for {
		id, ok := p.ident("of an *intra.Process")
		if !ok {
			return
		}
		args.On = append(args.On, id)
		if p.tok != token.PERIOD {
			break
		}
		p.next()
	}
	p.expect(token.RPAREN, "after the process: on takes a name or a selector such as on(sim.p)")
}

func (p *clauseParser) schedule(args *SectionArgs) {
	at := p.off
	name, ok := p.word()
	for _, s := range Schedules {
		if ok && s == name {
			args.Sched = s
			p.next()
			if p.expect(token.RPAREN, "after the schedule") {
				p.static(at, args)
			}
			return
		}
	}
	p.errorf(p.off, "unknown schedule %s%s (want static, adaptive or replicate)", p.found(), didYouMean(name, Schedules))
}

// static reports an error if a section with keep has the adaptive schedule. With replicate it is
// replicated where nothing is kept.
func (p *clauseParser) static(at int, args *SectionArgs) {
	if args.Keep && args.Sched == "adaptive" {
		p.errorf(at, "a section with keep has the schedule static: leave out sched(%s), or keep", args.Sched)
	}
}
