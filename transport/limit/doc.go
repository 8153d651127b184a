// Package limit gives a link a bandwidth: it wraps another link and holds
// frames back until a token bucket lets them pass. It is how a run shows what
// sharing is worth on a slower network than the one at hand. Programs do not
// import it; intrarun's -limit puts it in.
package limit
