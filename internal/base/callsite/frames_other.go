//go:build !amd64

package callsite

const framePointers = false

func frames(*calls) {}
