//go:build !linux

package file

import "os"

func claim(*os.File, int64) error { return nil }
