//go:build !unix

package file

import "io/fs"

// names returns the number of names that a file has. Without Linux no job rolls back, so
// that no file needs a second one.
func names(fs.FileInfo) int { return 1 }

// syncFolder makes the name of a file durable, where a folder can be synchronized.
func syncFolder(string) error { return nil }
