package runtime

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"runtime"

	"github.com/intrahpc/intra/internal/base/bridge"
	"github.com/intrahpc/intra/internal/base/callsite"
)

// Embedded checks that a rewritten file is up to date. Generated code calls it
// when the program starts: twin is the name of the rewritten file, source the
// text that it should have been made from, and hash the SHA-256 in hexadecimal
// of the text that it was made from. If they differ, the program would silently
// run old code, so Embedded ends it.
func Embedded(twin, source, hash string) struct{} {
	sum := sha256.Sum256([]byte(source))
	if hex.EncodeToString(sum[:]) != hash {
		fmt.Fprintln(os.Stderr, bridge.OutOfDateError(twin))
		os.Exit(2) // as a program that a job refuses
	}
	return struct{}{}
}

// Lines tells which lines of its source the lines of a rewritten file are made of, so that
// places and stacks name what the user has written. Generated code calls it when the program
// starts; the table is one of callsite.AddLines.
func Lines(table string) struct{} {
	if _, twin, _, ok := runtime.Caller(1); ok {
		callsite.AddLines(twin, table)
	}
	return struct{}{}
}
