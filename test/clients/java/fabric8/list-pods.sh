#!/usr/bin/env bash
# Logs in to a running cluster with fabric8's Java client and lists its pods: list-pods.sh KUBECONFIG
# Needs a JDK and Maven, which loads some thirty jars from Maven Central at the first run; so it is no part of the test suite.
set -euo pipefail
kubeconfig=$(realpath "$1")
cd "$(dirname "$0")"
classpath=$(mktemp)
trap 'rm -f "$classpath"' EXIT
mvn -q -B dependency:build-classpath -Dmdep.outputFile="$classpath"
exec 3<"$classpath"
java -cp "$(cat <&3)" Fabric8.java "$kubeconfig"
