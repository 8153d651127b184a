//go:build !unix

package checkpoint

// openFlags is 0 on this system: openRegular relies on its checks before and after
// opening.
const openFlags = 0
