package launch

import (
	"net"
	"time"

	"github.com/intrahpc/intra/internal/agent/agentd"
	"github.com/intrahpc/intra/internal/head/arbiter"
	"github.com/intrahpc/intra/internal/launch/livepage"
)

// described returns the description of the job for its page.
func (d *driver) described() livepage.Job {
	return livepage.Job{Program: d.job.Name, Degrees: d.job.Degrees}
}

// pageAt announces the address of the page. reached is the address at which this host is
// reached, "" for its name. A successor uses the same port.
func (d *driver) pageAt(at livepage.Address, reached string) {
	d.job.Page, d.pageURL = &at, at.URL(reached)
	d.warnf("the live page is at %s", d.pageURL)
}

// renewPage updates the page.
func (d *driver) renewPage() {
	s := d.head.Summary()
	if s.Text != "" { // the head is ending the processes, which the page would show as deaths
		return
	}
	d.page.Update(d.status(), d.report(&s, time.Now()))
}

// pageAmong informs the page's viewers where the page will be if this head is lost. self is
// the node of this head, 0 for the first one.
func (d *driver) pageAmong(info *agentd.TakeoverInfo, self arbiter.ID) {
	if d.page == nil {
		return
	}
	at := d.page.Address()
	var hosts, pages []string
	for i, h := range info.Hosts {
		reached, _, err := net.SplitHostPort(info.Addresses[agentOf(i)])
		if agentOf(i) == self || err != nil {
			continue
		}
		hosts = append(hosts, h.Name)
		if !at.Local() {
			pages = append(pages, at.On(reached).URL(reached))
		}
	}
	d.page.Among(hosts, pages)
}

// takePage serves the page of a lost head on this host. If it cannot, the job continues
// without a page.
func (d *driver) takePage(info *agentd.TakeoverInfo, self arbiter.ID) {
	if d.job.Page == nil {
		return
	}
	reached, _, err := net.SplitHostPort(info.Addresses[self])
	if err != nil { // not expected: prepare made the address with JoinHostPort
		reached = ""
	}
	at := d.job.Page.On(reached)
	if d.page, err = livepage.Listen(*at, d.described()); err != nil {
		var other error
		if d.page, other = livepage.Listen(*at.AnyPort(), d.described()); other != nil {
			d.warnf("warning: there is no live page any more: %v", err)
			return
		}
		d.warnf("warning: the live page is at another port: %v", err)
	}
	d.pageAt(d.page.Address(), reached)
	d.pageAmong(info, self)
}
