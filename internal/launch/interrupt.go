package launch

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/intrahpc/intra/internal/arbiter"
)

// interrupt handles a signal to intrarun.
func (h *head) interrupt(s os.Signal) {
	if h.signalled != nil {
		h.killAll()
		h.after(termGrace, func() { h.left, h.record = 0, nil }) // the output may have nowhere to go
		return
	}
	h.signalled = s
	h.ledger.decide(interruptCode(s), fmt.Sprintf("ended by %s", signalName(s.(syscall.Signal))))
	h.eventf("%s: ending all processes", signalName(s.(syscall.Signal)))
	h.phase = over
	h.decide(arbiter.Entry{Kind: arbiter.Decided, Code: h.ledger.code, Text: h.ledger.text}, func() {})
	for _, m := range h.order {
		if !m.gone {
			m.agent.Signal(m.id, syscall.SIGTERM)
		}
	}
	h.after(termGrace, h.killAll)
}

// terminate is how the end of a context counts.
const terminate = syscall.SIGTERM

// interruptCode is the exit code after a signal, as shells count.
func interruptCode(s os.Signal) int {
	if s == syscall.SIGINT {
		return 128 + int(syscall.SIGINT)
	}
	return 128 + int(syscall.SIGTERM)
}

func signalName(s syscall.Signal) string {
	if n := unix.SignalName(s); n != "" {
		return n
	}
	return fmt.Sprintf("signal %d", int(s))
}
