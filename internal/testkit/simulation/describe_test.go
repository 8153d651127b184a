package simulation

import "fmt"

// describe returns the activity of a process.
func (p *process) describe() string {
	s := fmt.Sprintf("dead %v exited %v ended %v left %v placed %v woken %v mail %d events %d queue %v says %d calls %v meets %v gifts %d wires %d",
		p.dead, p.exited, p.ended, p.left, p.log.State, p.woken, len(p.mail), len(p.events), p.queue, len(p.says), p.calls, p.meets, len(p.gifts), len(p.wires.All()))
	if p.member == nil {
		return s
	}
	s += fmt.Sprintf(" lives %v back %v pending %d filling %d", p.lives, p.back.Describe(), p.pending, p.filling)
	if p.program != nil {
		s += fmt.Sprintf(" points %d due %v", p.program.points, p.program.due)
	}
	s += fmt.Sprintf(" section %d open %v member %+v", p.machine.Number(), p.open != nil, p.member)
	if p.msgs != nil {
		s += "\n" + p.msgs.Describe()
	}
	return s
}
