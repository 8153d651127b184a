package netns

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/intrahpc/intra/internal/testkit/needs"
)

// Net is a set of hosts that can reach each other, but no other host.
type Net struct {
	Hosts []*Host

	fabric  *fabric
	cleaner *cleaner
}

// Host is a network namespace with the interfaces eth0 and lo.
type Host struct {
	Name string // name for ip netns exec
	Addr netip.Addr
	IPv6 netip.Addr
}

// ErrUnsupported means that this machine does not allow network namespaces, or lacks a
// tool. The text names the missing tool or permission.
var ErrUnsupported = errors.New("network namespaces cannot be made here")

// made counts the hosts of this process, to name them.
var made atomic.Int64

// maxHosts is the largest number of hosts with separate addresses.
const maxHosts = 250

// New makes n hosts. seed chooses the lost frames if Conditions.Loss is set. Close removes
// the hosts. The end of this process also removes them, however it ends.
func New(n int, seed uint64) (_ *Net, err error) {
	if n < 1 || n > maxHosts {
		return nil, fmt.Errorf("make %d hosts: want 1 to %d", n, maxHosts)
	}
	if err := supported(); err != nil {
		return nil, err
	}
	net := &Net{Hosts: newHosts(n), fabric: newFabric(n, seed)}
	if net.cleaner, err = startCleaner(net.Hosts); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			net.Close()
		}
	}()
	for i, h := range net.Hosts {
		if err := net.plug(i, h); err != nil {
			return nil, fmt.Errorf("make host %s: %w", h.Name, err)
		}
	}
	net.fabric.start()
	return net, nil
}

// newHosts names n hosts without making them.
func newHosts(n int) (all []*Host) {
	for i := range n {
		all = append(all, &Host{
			Name: fmt.Sprintf("intra%d-%d", os.Getpid(), made.Add(1)),
			Addr: netip.AddrFrom4([4]byte{10, 77, 0, byte(i + 1)}),
			IPv6: netip.MustParseAddr(fmt.Sprintf("fd77::%x", i+1)),
		})
	}
	return all
}

// Test is New for a test. It skips the test if hosts cannot be made.
func Test(t testing.TB, n int) *Net {
	t.Helper()
	if os.Geteuid() == 0 {
		needs.Tool(t, "ip", "iproute2")
	}
	net, err := New(n, 1)
	if errors.Is(err, ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(net.Close)
	return net
}

func supported() error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: not root", ErrUnsupported)
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return fmt.Errorf("%w: no ip command (iproute2)", ErrUnsupported)
	}
	f, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	f.Close()
	probe := exec.Command("true")
	probe.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
	if err := probe.Run(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return nil
}

// plug makes host i and its interface.
func (n *Net) plug(i int, h *Host) error {
	if err := ip("netns", "add", h.Name); err != nil {
		return err
	}
	name, err := n.fabric.plug(i)
	if err != nil {
		return err
	}
	if err := ip("link", "set", name, "netns", h.Name); err != nil {
		return err
	}
	return h.configure(i, name)
}

// configure moves the interface of that name into the namespace of host i, and sets it up.
func (h *Host) configure(i int, name string) error {
	lines := []string{"link set lo up"}
	if name != "eth0" {
		lines = append(lines, "link set "+name+" name eth0")
	}
	return batch(h.Name, append(lines,
		"link set eth0 address "+mac(i).String(),
		"addr add "+h.Addr.String()+"/24 dev eth0",
		"addr add "+h.IPv6.String()+"/64 dev eth0 nodad",
		"link set eth0 up")...)
}

// Datagrams counts the UDP datagrams that the hosts have sent so far, and the
// bytes of their frames.
func (n *Net) Datagrams() (count, bytes int64) {
	return n.fabric.datagrams.Load(), n.fabric.bytes.Load()
}

// Close kills every process on the hosts and removes them.
func (n *Net) Close() {
	n.cleaner.close()
	n.fabric.close()
}

// Command returns a command that runs on the host.
func (h *Host) Command(name string, args ...string) *exec.Cmd {
	return exec.Command("ip", append([]string{"netns", "exec", h.Name, name}, args...)...)
}

// Processes returns the processes on the host.
func (h *Host) Processes() ([]int, error) {
	out, err := exec.Command("ip", "netns", "pids", h.Name).Output()
	if err != nil {
		return nil, fmt.Errorf("list the processes of %s: %w", h.Name, err)
	}
	var all []int
	for _, f := range strings.Fields(string(out)) {
		pid, err := strconv.Atoi(f)
		if err != nil {
			return nil, fmt.Errorf("list the processes of %s: %w", h.Name, err)
		}
		all = append(all, pid)
	}
	return all, nil
}

// Kill takes down the link of the host and then kills every process on it, as a crash
// would. Because the link is down first, no other host is informed of the deaths.
func (h *Host) Kill() error {
	if err := h.Down(); err != nil {
		return err
	}
	for { // repeat, because new processes may be starting
		all, err := h.Processes()
		if err != nil || len(all) == 0 {
			return err
		}
		for _, pid := range all {
			_ = syscall.Kill(pid, syscall.SIGKILL) // an error means that the process has ended
		}
	}
}

// Down takes the link of the host down, in both directions.
func (h *Host) Down() error { return batch(h.Name, "link set eth0 down") }

// Up takes up the link of the host again.
func (h *Host) Up() error {
	return batch(h.Name, "link set eth0 up", "addr replace "+h.IPv6.String()+"/64 dev eth0 nodad")
}

func ip(args ...string) error { return run(exec.Command("ip", args...)) }

// batch runs several ip commands in a namespace.
func batch(host string, lines ...string) error {
	cmd := exec.Command("ip", "-n", host, "-batch", "-")
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	return run(cmd)
}

func run(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, bytes.TrimSpace(out))
	}
	return nil
}
