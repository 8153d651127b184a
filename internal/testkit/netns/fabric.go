package netns

import (
	"fmt"
	"net"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// fabric is an Ethernet switch between tap interfaces. Large frames pass unchanged. A
// header of the kernel in front of each frame contains how to segment it and complete its
// checksum.
type fabric struct {
	ports []*os.File
	wires [][]*wire // by sender, then receiver

	datagrams, bytes atomic.Int64
}

// maxFrame is the largest frame with its header, in bytes.
const maxFrame = 1<<16 + 64

// headerSize is the size of struct virtio_net_hdr.
const headerSize = 10

// offload holds features of a tap interface (TUN_F_*): the kernel may omit checksums and
// segmentation.
const offload = 1 | 2 | 4

// mac is the address of host i.
func mac(i int) net.HardwareAddr { return net.HardwareAddr{2, 'i', 'n', 0, 0, byte(i + 1)} }

func newFabric(n int, seed uint64) *fabric {
	f := &fabric{ports: make([]*os.File, n), wires: make([][]*wire, n)}
	for from := range n {
		for to := range n {
			f.wires[from] = append(f.wires[from], newWire(seed, uint64(from*maxHosts+to)))
		}
	}
	return f
}

// plug makes the interface of host i and returns its name. The interface is then still in
// the namespace of this process.
func (f *fabric) plug(i int) (name string, err error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", fmt.Errorf("open /dev/net/tun: %w", err)
	}
	defer func() {
		if err != nil {
			unix.Close(fd)
		}
	}()
	request, err := unix.NewIfreq("intra%d")
	if err != nil {
		return "", err
	}
	request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		return "", fmt.Errorf("make a tap interface: %w", err)
	}
	if err := unix.IoctlSetInt(fd, unix.TUNSETOFFLOAD, offload); err != nil {
		return "", fmt.Errorf("set up a tap interface: %w", err)
	}
	f.ports[i] = os.NewFile(uintptr(fd), "tap")
	for from := range f.wires {
		f.wires[from][i].port = f.ports[i]
	}
	return request.Name(), nil
}

// start starts to forward frames, once all interfaces exist.
func (f *fabric) start() {
	for i := range f.ports {
		go f.forward(i)
	}
}

// forward passes the frames of host i to their destinations, until the interface is
// closed.
func (f *fabric) forward(i int) {
	buf := make([]byte, maxFrame)
	for {
		n, err := f.ports[i].Read(buf)
		if err != nil {
			return
		}
		frame := buf[:n]
		if n < headerSize+14 {
			continue
		}
		if isUDP(frame) {
			f.datagrams.Add(1)
			f.bytes.Add(int64(n - headerSize))
		}
		to := frame[headerSize : headerSize+6]
		if to[0]&1 == 0 { // the frame is neither broadcast nor multicast
			if k := int(to[5]) - 1; k >= 0 && k < len(f.ports) && k != i && string(to) == string(mac(k)) {
				f.wires[i][k].carry(frame)
			}
			continue
		}
		for k := range f.ports {
			if k != i {
				f.wires[i][k].carry(frame)
			}
		}
	}
}

func (f *fabric) close() {
	for _, p := range f.ports {
		if p != nil {
			p.Close()
		}
	}
	for _, row := range f.wires {
		for _, w := range row {
			w.set(Conditions{})
		}
	}
}
