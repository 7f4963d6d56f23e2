#!/usr/bin/env bash
# Usage: kubectl.sh [VERSION…]. Builds kubectl of these versions, such as 1.36, or of all that have a folder here. Needs Go.
set -euo pipefail
cd "$(dirname "$0")"

build() {
  local version
  version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
  go build -ldflags="-s -w -X k8s.io/component-base/version.gitVersion=$version" -o bin/ k8s.io/kubernetes/cmd/kubectl
}

folders=("${@/#/kubectl-}")
(($#)) || folders=(kubectl-*/)
for folder in "${folders[@]}"; do (cd "$folder" && build); done
