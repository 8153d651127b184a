// Package kubernetes tests the manifest in the README against the types of the
// Kubernetes API.
package kubernetes
