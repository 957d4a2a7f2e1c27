//go:build tools

// Package h2spec names what is built here, so that `go mod tidy` keeps it.
package h2spec

import _ "github.com/summerwind/h2spec/cmd/h2spec"
