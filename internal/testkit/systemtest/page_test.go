//go:build system

package systemtest

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
	"github.com/intrahpc/intra/internal/testkit/netns"
)

// After the loss of the head the next head serves the page on its host. It announces the
// address in its output, and to intrarun status.
func TestPageAfterTheLossOfTheHead(t *testing.T) {
	t.Parallel()
	net := netns.Test(t, 4)
	spec := hostedSpec(t, net, 1, "-n 2 -r 2 -stuck abort -stuck 20s -http 0.0.0.0:8080 -http-token a-token-of-this-test", nil)
	spec.Program = []string{binaries.Program(t, "internal/testkit/systemtest/waits"), "cycle"}
	j := &hostedJob{jobtest.Start(t, spec), t, net, spec}
	await(t, j.Job, joined)
	// ask sends a request to the page of a host. It returns "" if there is no page.
	ask := func(h *netns.Host, path, token string) string {
		out, _ := h.Command("bash", "-c", `exec 3<>/dev/tcp/127.0.0.1/8080 && printf 'GET `+path+` HTTP/1.0\r\nAuthorization: Bearer `+token+`\r\n\r\n' >&3 && cat <&3`).CombinedOutput()
		return string(out)
	}
	require.Eventually(t, func() bool {
		return strings.Contains(ask(net.Hosts[0], "/metrics", "a-token-of-this-test"), "intra_places 4")
	}, patience, 100*time.Millisecond)
	j.lose(net.Hosts[0].Kill)
	j.await("the live page is at ")
	m := regexp.MustCompile(`the live page is at (http://([\d.]+):8080/\?token=a-token-of-this-test)\n`).FindStringSubmatch(j.errs())
	require.NotNil(t, m, j.errs())
	var status, metrics, refused string
	require.Eventually(t, func() bool {
		for _, h := range net.Hosts[1:] {
			out, err := h.Command(binaries.Intrarun(t), "status").CombinedOutput()
			if err == nil {
				status, metrics, refused = string(out), ask(h, "/metrics", "a-token-of-this-test"), ask(h, "/metrics", "another")
			}
		}
		return strings.Contains(metrics, "intra_places 4")
	}, patience, 100*time.Millisecond, "%s", j.errs())
	require.Contains(t, status, "  live page: "+m[1]+"\n")
	require.Contains(t, refused, "401 Unauthorized")
	r, lost := j.end()
	require.True(t, lost, r.stderr)
	require.Equal(t, 1, r.code, r.stderr)
}
