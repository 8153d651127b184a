// Package livepage serves a page that shows a running job. It also serves the same data as
// JSON, and metrics for Prometheus.
//
// The Model computes the content of the page from the status of the job and its current
// report. The Server has a model, and sends changes to the viewers of the page as server-sent
// events. The page is one file, so a browser needs no other server.
//
// By default the page is for the users of this host. Other viewers need a token.
package livepage
