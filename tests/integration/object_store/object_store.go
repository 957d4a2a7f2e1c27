//go:build tools

// Package objectstore names what is built here, so that `go mod tidy` keeps it.
package objectstore

import _ "github.com/versity/versitygw/cmd/versitygw"
