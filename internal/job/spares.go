package job

import "fmt"

// Reserve places spare processes, which wait to replace lost ones, on hosts with free
// slots. It prefers the host with the most free slots. So the spares are spread, and few of
// them are lost with one host. With oversubscribe every host has room.
func (p *Placement) Reserve(spares int, hosts []Host, oversubscribe bool) error {
	free := make(map[string]int)
	for _, h := range hosts {
		free[h.Name] = h.Slots
	}
	for _, i := range p.Of {
		free[p.Hosts[i].Name]--
	}
	for n := range spares {
		best := -1
		for i, h := range hosts {
			if (free[h.Name] > 0 || oversubscribe) && (best < 0 || free[h.Name] > free[hosts[best].Name]) {
				best = i
			}
		}
		if best < 0 {
			return fmt.Errorf("%w: no slot is free for %d of %d spares: name more hosts or slots, or allow it with -oversubscribe", ErrHosts, spares-n, spares)
		}
		free[hosts[best].Name]--
		p.Spares = append(p.Spares, p.use(hosts[best]))
	}
	return nil
}

// Keep adds the unused hosts, so that replacements can run there.
func (p *Placement) Keep(hosts []Host) {
	for _, h := range hosts {
		p.use(h)
	}
}

// use returns the index of a host in Hosts, and adds the host if needed.
func (p *Placement) use(h Host) int {
	for i, used := range p.Hosts {
		if used.Name == h.Name {
			return i
		}
	}
	p.Hosts = append(p.Hosts, h)
	return len(p.Hosts) - 1
}

// SparesOn counts the spares on host i.
func (p *Placement) SparesOn(i int) (n int) {
	for _, h := range p.Spares {
		if h == i {
			n++
		}
	}
	return n
}
