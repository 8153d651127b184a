// Package browser tests the live page of a job in a browser without a window, by what a
// user sees. It is a module of its own, so that what drives the browser is no module of
// those who use intra.
//
// Where there is no Chromium the tests are left out, and say so. With INTRA_PICTURES they
// take the pictures of docs/see.md anew.
package browser
