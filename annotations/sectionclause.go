package annotations

import (
	"go/token"
)

// sectionClause parses: "on" "(" name { "." name } ")" | "sched" "(" schedule ")" .
func (p *clauseParser) sectionClause(args *SectionArgs) {
	name, ok := p.word()
	if !ok {
		p.errorf(p.off, "found %s, want on(process) or sched(static|adaptive|replicate)", p.found())
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
	case "nowait":
		p.errorf(at, "clause nowait is gone: every section waits for its results; leave it out")
		return
	default:
		p.errorf(at, "unknown clause %q of //intra:section%s (want on or sched)", name, didYouMean(name, []string{"on", "sched"}))
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
	name, ok := p.word()
	for _, s := range Schedules {
		if ok && s == name {
			args.Sched = s
			p.next()
			p.expect(token.RPAREN, "after the schedule")
			return
		}
	}
	p.errorf(p.off, "unknown schedule %s%s (want static, adaptive or replicate)", p.found(), didYouMean(name, Schedules))
}
