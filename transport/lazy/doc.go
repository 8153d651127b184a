// Package lazy implements a link that is made at its first use: when either side sends the
// first frame. Until then it costs some words of memory, but no descriptor, and polling
// skips it. The users of the package decide how a link is requested, and how the two
// processes get its ends: see internal/job and internal/agent/supervise.
package lazy
