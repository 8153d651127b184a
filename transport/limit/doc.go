// Package limit limits the bandwidth of a link: it wraps another link and holds
// frames back until a token bucket lets them pass. With it a run shows the value
// of sharing on a network that is slower than the available one. Programs do not
// import it; intrarun's -limit inserts it.
package limit
