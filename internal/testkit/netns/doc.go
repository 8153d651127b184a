// Package netns makes several hosts out of one machine, for tests: network namespaces
// whose interfaces a switch in this process connects. Each direction between two hosts
// can be cut, delayed, made lossy or slow, from a seed. It needs root, ip (iproute2)
// and /dev/net/tun, and no other kernel module.
//
// The hosts share everything but the network: files, PIDs and the host name.
package netns
