// Package kubernetes tests the manifest in docs/cluster.md against the types of the
// Kubernetes API, and plays what happens when its pods are removed.
package kubernetes
