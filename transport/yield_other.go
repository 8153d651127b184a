//go:build !linux

package transport

import "runtime"

func giveCore() { runtime.Gosched() }
