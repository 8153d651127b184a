package spawn

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
)

// Hash returns the hash of a program, "" if it cannot be run or read.
func Hash(path string) string {
	if !Executable(path) {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
}
