// Package livepage serves a page that shows a running job, the same as JSON, and
// metrics for Prometheus.
//
// The Model computes what the page shows from the status of the job and the
// report that it would have now. The Server has a model, and sends news to the
// viewers of the page as server-sent events. The page is one file, so a browser
// needs nothing from elsewhere.
//
// By default the page is for the users of this host. Others need a token.
package livepage
