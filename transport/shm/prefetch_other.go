//go:build linux && !amd64

package shm

func toRead(*byte, int) {}

func toWrite(*byte, int) {}
