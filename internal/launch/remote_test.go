package launch

import (
	"io"
	"net"
	"testing"

	"github.com/intrahpc/intra/internal/agentwire"
	"github.com/intrahpc/intra/internal/job"
)

// Whatever an agent says, the head does not panic.
func FuzzRemote(f *testing.F) {
	for k := agentwire.KindPlan; k <= agentwire.KindNews; k++ {
		f.Add(byte(k), 0, 0, []byte(`{}`))
		f.Add(byte(k), 0, 0, agentwire.Number(1))
		f.Add(byte(k), 1, 0, []byte{0})
	}
	f.Add(byte(agentwire.KindMessage), 0, 0, []byte(`{"kind":"finish","stats":{}}`))
	f.Fuzz(func(t *testing.T, kind byte, rank, replica int, body []byte) {
		a, b := net.Pipe()
		go io.Copy(io.Discard, b)
		r := newRemote(&job.Host{Name: "h"}, agentwire.NewConn(a))
		r.observer, r.lost, r.news = deafObserver{}, func(string, *evidence) {}, func(news) {}
		close(r.serving)
		r.start(job.Process{}, first)
		_ = r.take(&agentwire.Frame{Kind: agentwire.Kind(kind), Process: job.Process{Rank: rank, Replica: replica}, Body: body})
		r.declare("over", nil)
		b.Close()
	})
}
