//go:build !unix

package checkpoint

// openFlags are none: openRegular relies on its checks before and after opening.
const openFlags = 0
