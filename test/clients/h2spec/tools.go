//go:build tools

// Package tools names the program that test/apiserver/http2/h2spec.test.ts builds, so that its modules are pinned in go.sum.
package tools

import _ "github.com/summerwind/h2spec/cmd/h2spec"
