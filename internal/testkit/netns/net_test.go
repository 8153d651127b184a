package netns

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The test binary also serves as a server that echoes lines, and as a client that prints
// whether a line was echoed.
func TestMain(m *testing.M) {
	if address := os.Getenv("NETNS_SERVE"); address != "" {
		serve(address)
	}
	if address := os.Getenv("NETNS_CALL"); address != "" {
		fmt.Println(call(address))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func serve(address string) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("ready")
	for {
		c, err := l.Accept()
		if err != nil {
			os.Exit(1)
		}
		go func() {
			defer c.Close()
			bufio.NewReader(c).WriteTo(c)
		}()
	}
}

func call(address string) string {
	c, err := (&net.Dialer{Timeout: 2 * time.Second}).DialContext(context.Background(), "tcp", address)
	if err != nil {
		return "no connection"
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(20 * time.Second))
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<14) // makes many frames, some of them large
	go c.Write(sent)
	got := make([]byte, len(sent))
	for n := 0; n < len(got); {
		k, err := c.Read(got[n:])
		if err != nil {
			return "broken off"
		}
		n += k
	}
	if !bytes.Equal(got, sent) {
		return "other bytes"
	}
	return "same bytes"
}

func self(h *Host, variable string) *exec.Cmd {
	cmd := h.Command(os.Args[0])
	cmd.Env = append(os.Environ(), variable)
	return cmd
}

func startServer(t *testing.T, h *Host, address string) {
	server := self(h, "NETNS_SERVE="+address)
	out, err := server.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		server.Process.Kill()
		server.Wait()
	})
	line, _ := bufio.NewReader(out).ReadString('\n')
	require.Equal(t, "ready\n", line)
}

func TestHostsReachEachOtherAsTheirConditionsAllow(t *testing.T) {
	n := Test(t, 3)
	startServer(t, n.Hosts[0], ":7000")
	calls := func(from int, to net.IP) string {
		out, err := self(n.Hosts[from], "NETNS_CALL="+net.JoinHostPort(to.String(), "7000")).Output()
		require.NoError(t, err)
		return strings.TrimSpace(string(out))
	}
	v4, v6 := n.Hosts[0].Addr.AsSlice(), n.Hosts[0].IPv6.AsSlice()
	require.Equal(t, "same bytes", calls(1, v4))
	require.Equal(t, "same bytes", calls(2, v6))

	n.Set(0, 1, Conditions{Cut: true}) // cuts replies of host 0
	require.Equal(t, "no connection", calls(1, v4))
	require.Equal(t, "same bytes", calls(2, v4))
	n.All(Conditions{Delay: time.Millisecond, Jitter: time.Millisecond, Loss: 0.02, Rate: 20e6})
	require.Equal(t, "same bytes", calls(1, v4))
	n.All(Conditions{})

	require.NoError(t, n.Hosts[0].Down())
	require.Equal(t, "no connection", calls(1, v4))
	require.NoError(t, n.Hosts[0].Up())
	require.Equal(t, "same bytes", calls(1, v6))

	require.NoError(t, n.Hosts[0].Kill())
	all, err := n.Hosts[0].Processes()
	require.NoError(t, err)
	require.Empty(t, all)
}

func TestPairReachesEachOther(t *testing.T) {
	p := TestPair(t)
	startServer(t, p.Hosts[0], ":7000")
	for _, to := range []net.IP{p.Hosts[0].Addr.AsSlice(), p.Hosts[0].IPv6.AsSlice()} {
		out, err := self(p.Hosts[1], "NETNS_CALL="+net.JoinHostPort(to.String(), "7000")).Output()
		require.NoError(t, err)
		require.Equal(t, "same bytes", strings.TrimSpace(string(out)))
	}
	p.Close()
	for _, h := range p.Hosts {
		require.NoFileExists(t, "/run/netns/"+h.Name)
	}
}

func TestClose(t *testing.T) {
	n := Test(t, 2)
	sleeper := n.Hosts[1].Command("sleep", "1000")
	require.NoError(t, sleeper.Start())
	n.Close()
	require.Error(t, sleeper.Wait(), "killed")
	for _, h := range n.Hosts {
		require.NoFileExists(t, "/run/netns/"+h.Name)
	}
}

func TestWire(t *testing.T) {
	r, p, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	w := newWire(7, 1)
	w.port = p
	w.set(Conditions{Loss: 0.5, Delay: time.Millisecond, Jitter: time.Millisecond})
	for i := range 100 {
		w.carry(fmt.Appendf(nil, "%d\n", i))
	}
	w.set(Conditions{})
	w.carry([]byte("end\n")) // arrives after all others
	var got []string
	for s := bufio.NewScanner(r); s.Scan() && s.Text() != "end"; {
		got = append(got, s.Text())
	}
	again := newWire(7, 1)
	var want []string
	for i := range 100 {
		if again.random.Float64() >= 0.5 {
			want = append(want, fmt.Sprint(i))
			again.random.Int64N(int64(time.Millisecond))
		}
	}
	require.Equal(t, want, got, "one seed, one choice, in order")
	p.Close()
}
