// Package netns simulates several hosts on one machine, for tests. A host is a network
// namespace, and a switch in this process connects their interfaces. Each direction
// between two hosts can be cut, delayed, made lossy or slow; a seed chooses the lost
// frames. It needs root, ip (iproute2) and /dev/net/tun, and no other kernel module.
//
// The hosts share everything except the network: for example files, PIDs and the host
// name.
package netns
