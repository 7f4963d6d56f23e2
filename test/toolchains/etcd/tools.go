//go:build tools

// Package tools names the programs that .ci/run builds for the tests with etcd 3.6, so that their modules are pinned in go.sum.
package tools

import (
	_ "go.etcd.io/etcd/etcdutl/v3"
	_ "go.etcd.io/etcd/server/v3"
)
