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

// Embedded checks that a rewritten file is up to date. Generated code calls it when the
// program starts. twin is the name of the rewritten file. source is the current text of its
// source. hash is the SHA-256, in hexadecimal, of the text from which the file was made. If
// they differ, the program would silently run old code, so Embedded ends it.
func Embedded(twin, source, hash string) struct{} {
	sum := sha256.Sum256([]byte(source))
	if hex.EncodeToString(sum[:]) != hash {
		fmt.Fprintln(os.Stderr, bridge.OutOfDateError(twin))
		os.Exit(2) // the exit code of a program that a job refuses
	}
	return struct{}{}
}

// Lines registers the line of the source for each line of a rewritten file, so that
// positions and stacks refer to the user's code. Generated code calls it when the program
// starts. The table is one of callsite.AddLines.
func Lines(table string) struct{} {
	if _, twin, _, ok := runtime.Caller(1); ok {
		callsite.AddLines(twin, table)
	}
	return struct{}{}
}
