// What serves file systems is for this test only: a module of its own keeps it out of the
// modules of those who use intra.
module github.com/intrahpc/intra/internal/testkit/systemtest/hostfiles

go 1.26.0

require (
	github.com/hanwen/go-fuse/v2 v2.9.0
	github.com/intrahpc/intra v0.0.0
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/ebitengine/purego v0.11.3 // indirect
	github.com/klauspost/cpuid/v2 v2.4.2 // indirect
	github.com/zeebo/xxh3 v1.1.0 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/intrahpc/intra => ../../../..
