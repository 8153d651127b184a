//go:build unix

package checkpoint

import "syscall"

// openFlags make the kernel refuse what openRegular has found to be no file but a moment
// later.
const openFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
