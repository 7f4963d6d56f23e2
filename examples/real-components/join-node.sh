#!/usr/bin/env bash
# Joins a real kubelet to a Kubestage cluster by a bootstrap token, and runs it until Ctrl-C. Needs root, kubectl, the kubelet in $BIN
# (default: on the PATH), and a containerd that runs, with its CRI plug-in and a network for pods.
# STATE: the cluster's state folder (default .kubestage). NODE: the node's name. NODE_IP: its address, which the API server must reach.
# CONTAINERD: the socket. DIR: where the kubelet keeps its files. CGROUP_DRIVER: as containerd has it.
set -euo pipefail
source "$(dirname "$0")/bootstrap-token.sh"

STATE=$(cd "${STATE:-.kubestage}" && pwd)
BIN=${BIN:+$BIN/}
NODE=${NODE:-real-1}
NODE_IP=${NODE_IP:?the address of the node}
CONTAINERD=${CONTAINERD:-/run/containerd/containerd.sock}
DIR=${DIR:-/var/lib/kubestage-real}
mkdir -p "$DIR/manifests" "$DIR/logs" && cd "$DIR"
ca=$STATE/pki/ca.crt
admin() { kubectl --kubeconfig "$STATE/kubeconfig" "$@"; }

bootstrap_token admin
server=$(admin config view --raw --minify -o 'jsonpath={.clusters[0].cluster.server}')
bootstrap_kubeconfig bootstrap.kubeconfig "$server" "$ca"

cat > kubelet.yaml << EOF
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $NODE_IP
port: ${PORT:-10250}
serverTLSBootstrap: true
rotateCertificates: true
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $ca}}
authorization: {mode: Webhook}
cgroupDriver: ${CGROUP_DRIVER:-systemd}
failSwapOn: false
failCgroupV1: false
containerRuntimeEndpoint: unix://$CONTAINERD
staticPodPath: $DIR/manifests
podLogsDir: $DIR/logs
clusterDNS: [10.96.0.10]
clusterDomain: cluster.local
EOF

exec "${BIN}kubelet" --config kubelet.yaml --bootstrap-kubeconfig bootstrap.kubeconfig --kubeconfig kubelet.kubeconfig \
  --root-dir "$DIR/kubelet" --cert-dir "$DIR/pki" --hostname-override "$NODE" --node-ip "$NODE_IP"
