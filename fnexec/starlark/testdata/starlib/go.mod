module starlib

go 1.24

require (
	github.com/qri-io/starlib v0.5.0
	go.starlark.net v0.0.0-20250417143717-f57e51f710eb
)

require (
	github.com/pkg/errors v0.8.1 // indirect
	golang.org/x/sys v0.0.0-20220715151400-c0bba94af5f8 // indirect
	gopkg.in/yaml.v2 v2.4.0 // indirect
)
