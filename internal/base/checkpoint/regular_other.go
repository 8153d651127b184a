//go:build !unix

package checkpoint

// openFlags are none: the look at the name before, and at the file after it is opened, has
// to do.
const openFlags = 0
