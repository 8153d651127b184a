package intra

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
)

// Embedded is called by generated code when the program starts: twin is the
// name of a rewritten file, source the text that it should have been made
// from, and hash the SHA-256 in hexadecimal of the text that it was made
// from. If they differ, the program would silently run old code, so it ends.
func Embedded(twin, source, hash string) struct{} {
	sum := sha256.Sum256([]byte(source))
	if hex.EncodeToString(sum[:]) != hash {
		fmt.Fprintf(os.Stderr, "%s is out of date: run go generate\n", twin)
		os.Exit(exitRefused)
	}
	return struct{}{}
}
