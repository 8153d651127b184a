//go:build !amd64 || purego

package simd

func native() []*Path { return nil }
