package launch

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/agentd"
	"github.com/intrahpc/intra/internal/livepage"
)

// A head that takes over serves the page on its host, at the port that it had, or at
// another one if that is taken, and says so.
func TestPageMovesWithTheHead(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	for name, c := range map[string]struct {
		at     livepage.Address
		others int
		want   string
	}{
		"loopback":   {livepage.Address{Listen: "127.0.0.1:0"}, 0, "http://127.0.0.1:"},
		"everywhere": {livepage.Address{Listen: "0.0.0.0:0", Token: "secretsecret"}, 2, "http://10.0.0.2:"},
		"taken":      {livepage.Address{Listen: taken.Addr().String()}, 0, "http://127.0.0.1:"},
	} {
		t.Run(name, func(t *testing.T) {
			s := inherit(t, []agentd.ProcessResync{resynced(0, agentd.ProcessResync{PID: 100, Joined: true, Voiced: true})}, nil)
			s.job.Page = &c.at
			w := s.goOn(t)
			require.NotNil(t, w.page)
			defer w.page.Close()
			require.True(t, strings.HasPrefix(w.pageURL, c.want), w.pageURL)
			require.Equal(t, w.pageURL, w.status().Page)
			w.renewPage()
			r, err := http.Get(strings.Replace(w.pageURL, "10.0.0.2", "127.0.0.1", 1))
			require.NoError(t, err)
			r.Body.Close()
			require.Equal(t, 200, r.StatusCode)
			w.console.Close()
			require.Contains(t, s.out.err.String(), "the live page is at "+w.pageURL)
			if name == "taken" {
				require.Contains(t, s.out.err.String(), "warning: the live page is at another port")
			}
		})
	}
}
