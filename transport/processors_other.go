//go:build !linux

package transport

import "runtime"

func processors() int { return runtime.NumCPU() }
