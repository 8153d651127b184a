// Package browser tests what a user sees of the live page of a job, in a headless browser.
// It is a module of its own, so that users of intra do not depend on the module that
// drives the browser.
//
// Without Chromium the tests are skipped. With INTRA_PICTURES they renew the pictures of
// docs/see.md.
package browser
