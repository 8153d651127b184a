// Package limit limits the bandwidth of a link: it wraps another link and holds frames back
// until a token bucket lets them pass. It serves to measure the benefit of sharing on a
// network that is slower than the real one. Programs do not import it; intrarun's -limit
// uses it.
package limit
