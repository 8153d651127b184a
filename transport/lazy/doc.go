// Package lazy holds the place of a link that is made when it is first used: by the
// first frame that is sent on either side. Until then it costs its user some words of
// memory, no descriptor, and no part of a polling round. Who asks for links, and how
// the two ends come to the two processes, is their business: see internal/job and
// internal/agent/supervise.
package lazy
