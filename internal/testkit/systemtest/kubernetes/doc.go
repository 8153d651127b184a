// Package kubernetes tests the manifest in docs/cluster.md against the types of the
// Kubernetes API.
package kubernetes
