#!/usr/bin/env bash
# Joins a real kubelet to a Kubestage cluster by a bootstrap token, and runs it until Ctrl-C. Needs root, kubectl, the kubelet in $BIN
# (default: on the PATH), and a containerd that runs, with its CRI plug-in and a network for pods.
# STATE: the cluster's state folder (default .kubestage). NODE: the node's name. NODE_IP: its address, which the API server must reach.
# CONTAINERD: the socket. DIR: where the kubelet keeps its files. CGROUP_DRIVER: as containerd has it.
set -euo pipefail

STATE=$(cd "${STATE:-.kubestage}" && pwd)
BIN=${BIN:+$BIN/}
NODE=${NODE:-real-1}
NODE_IP=${NODE_IP:?the address of the node}
CONTAINERD=${CONTAINERD:-/run/containerd/containerd.sock}
DIR=${DIR:-/var/lib/kubestage-real}
mkdir -p "$DIR/manifests" "$DIR/logs" && cd "$DIR"
ca=$STATE/pki/ca.crt
admin() { kubectl --kubeconfig "$STATE/kubeconfig" "$@"; }

# What `kubeadm token create` would make: an id, a secret, an hour to live, and the group that may join nodes.
word() { LC_ALL=C tr -dc a-z0-9 < /dev/urandom | head -c "$1" || true; }
id=$(word 6) secret=$(word 16)
admin apply -f - << EOF
apiVersion: v1
kind: Secret
metadata: {name: bootstrap-token-$id, namespace: kube-system}
type: bootstrap.kubernetes.io/token
stringData:
  token-id: $id
  token-secret: $secret
  expiration: $(date -u -d '+1 hour' +%Y-%m-%dT%H:%M:%SZ)
  usage-bootstrap-authentication: "true"
  usage-bootstrap-signing: "true"
  auth-extra-groups: system:bootstrappers:kubeadm:default-node-token
EOF

server=$(admin config view --raw --minify -o 'jsonpath={.clusters[0].cluster.server}')
{
  kubectl config --kubeconfig bootstrap.kubeconfig set-cluster kubestage --server "$server" --certificate-authority "$ca" --embed-certs
  kubectl config --kubeconfig bootstrap.kubeconfig set-credentials token --token "$id.$secret"
  kubectl config --kubeconfig bootstrap.kubeconfig set-context join --cluster kubestage --user token
  kubectl config --kubeconfig bootstrap.kubeconfig use-context join
} > /dev/null

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
