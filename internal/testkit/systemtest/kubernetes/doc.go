// Package kubernetes tests the manifest in docs/cluster.md against the types of the
// Kubernetes API, and simulates the removal of its pods.
package kubernetes
