//go:build tools

// Package tools names the program that .ci/run builds for the tests with aggregation, so that its modules are pinned in go.sum.
package tools

import _ "k8s.io/sample-apiserver"
