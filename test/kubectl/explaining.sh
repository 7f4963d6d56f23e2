#!/usr/bin/env bash
# What kubectl explains of each kind in a file of lines `PLURAL GROUP/VERSION`, in the file's order; two are asked at a time.
set -euo pipefail

answers=$(mktemp -d)
trap 'rm -r "$answers"' EXIT
awk '{ printf "%04d %s %s\n", NR, $1, $2 }' "$1" |
  xargs -P 2 -L 1 bash -c 'kubectl explain "$2" --api-version="$3" --recursive > "$0/$1" 2>&1' "$answers"
cat "$answers"/*
