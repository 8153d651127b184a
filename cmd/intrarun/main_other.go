//go:build !linux

package main

import (
	"fmt"
	"os"
	"runtime"
)

func main() {
	fmt.Fprintf(os.Stderr, "intrarun: jobs need Linux, and this is %s: start the program by itself, as one rank with one replica, or give replicas to a test with intratest.Run\n", runtime.GOOS)
	os.Exit(2)
}
