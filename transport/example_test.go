package transport_test

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/inproc"
)

// inbox is the Receiver of one process: it records the last text, and wakes the
// waits of its poller.
type inbox struct {
	poller *transport.Poller
	text   atomic.Pointer[string]
	ended  atomic.Bool
}

func (i *inbox) Begin(*transport.Header) []byte { return nil }
func (i *inbox) End(_ *transport.Header, payload []byte) {
	s := string(payload) // copied, because the link reuses the memory of the payload
	i.text.Store(&s)
	i.poller.Wake()
}
func (i *inbox) Torn(*transport.Header, int) {}
func (i *inbox) Lost(*transport.Header)      {}
func (i *inbox) Closed(error)                { i.ended.Store(true); i.poller.Wake() }

func ExamplePoller() {
	ctx := context.Background()
	a, b := inproc.Pair()
	sender := &inbox{poller: transport.NewPoller()}
	receiver := &inbox{poller: transport.NewPoller()}
	a.Start(sender)
	b.Start(receiver)
	receiver.poller.Add(b)

	a.Send(&transport.Frame{
		Header:  transport.Header{Channel: transport.ChannelMessage},
		Payload: [][]byte{[]byte("in two "), []byte("pieces")},
	})
	err := receiver.poller.Wait(ctx, func() bool { return receiver.text.Load() != nil })
	fmt.Println(*receiver.text.Load(), err)

	a.Close()
	err = receiver.poller.Wait(ctx, receiver.ended.Load)
	fmt.Println("ended", err)
	b.Close()
	// Output:
	// in two pieces <nil>
	// ended <nil>
}
