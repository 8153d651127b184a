// Package livepage serves a page on which a job can be watched, the same as JSON, and
// metrics for Prometheus.
//
// The Model is a function of what it has been given: the status of the job, and what
// its report would be now. It makes of them what the page shows. The Server has a
// model, and sends those who look at the page what is new, as server-sent events. A
// browser needs nothing from elsewhere: the page is one file.
//
// By itself the page is for the users of this host. Others need a token.
package livepage
