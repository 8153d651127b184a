// Package lazy represents a link that is made at its first use: by the first
// frame that either side sends. Until then it costs some words of memory, but no
// descriptor, and no part of a polling round. Its users decide how a link is
// requested, and how the two ends get to the two processes: see internal/job and
// internal/agent/supervise.
package lazy
