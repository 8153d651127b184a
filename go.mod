module github.com/intrahpc/intra

go 1.26.0

require (
	github.com/dave/dst v0.28.0 // indirect
	github.com/klauspost/cpuid/v2 v2.4.2 // indirect
	github.com/mmcloughlin/avo v0.6.0 // indirect
	github.com/stretchr/testify v1.12.1 // indirect
	github.com/zeebo/xxh3 v1.1.0 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/term v0.47.0 // indirect
	golang.org/x/tools v0.52.0 // indirect
)
