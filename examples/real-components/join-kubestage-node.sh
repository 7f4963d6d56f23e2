#!/usr/bin/env bash
# Joins Kubestage's kubelet to any cluster by a bootstrap token, and runs it until Ctrl-C. Needs kubectl with an administrator's
# kubeconfig, and this clone after `npm ci`. Arguments go to the kubelet: `--node-ip`, `--pod-cidr`, `--image` …
# NODE: the node's name. DIR: where the kubelet keeps its files.
set -euo pipefail

NODE=${NODE:-kubestage-1}
DIR=${DIR:-$PWD/.kubestage-node}
clone=$(cd "$(dirname "$0")/../.." && pwd)
source "$clone/examples/real-components/bootstrap-token.sh"
mkdir -p "$DIR"

# kubeadm makes these bindings; other installers may not.
bind() { kubectl get clusterrolebinding "$1" > /dev/null 2>&1 || kubectl create clusterrolebinding "$1" --clusterrole "$2" --group "$3"; }
bind kubeadm:kubelet-bootstrap system:node-bootstrapper "$joiners"
bind kubeadm:node-autoapprove-bootstrap system:certificates.k8s.io:certificatesigningrequests:nodeclient "$joiners"
bind kubeadm:node-autoapprove-certificate-rotation system:certificates.k8s.io:certificatesigningrequests:selfnodeclient system:nodes

bootstrap_token kubectl
bootstrap=$DIR/bootstrap.kubeconfig
server=$(kubectl config view --raw --minify -o 'jsonpath={.clusters[0].cluster.server}')
kubectl config view --raw --minify --flatten -o 'jsonpath={.clusters[0].cluster.certificate-authority-data}' | base64 -d > "$DIR/ca.crt"
bootstrap_kubeconfig "$bootstrap" "$server" "$DIR/ca.crt"

export PATH=$clone/node_modules/.bin:$PATH
exec "$clone/bin/kubestage.mjs" kubelet --bootstrap-kubeconfig "$bootstrap" --root-dir "$DIR" --node-name "$NODE" "$@"
