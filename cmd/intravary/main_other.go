//go:build !linux

package main

import (
	"fmt"
	"os"
	"runtime"
)

func main() {
	fmt.Fprintf(os.Stderr, "intravary: jobs need Linux, and this is %s\n", runtime.GOOS)
	os.Exit(2)
}
