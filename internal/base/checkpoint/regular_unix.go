//go:build unix

package checkpoint

import "syscall"

// openFlags make the kernel reject a link or pipe that replaces the file after the check
// of openRegular.
const openFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
