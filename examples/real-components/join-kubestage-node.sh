#!/usr/bin/env bash
# Joins Kubestage's kubelet to any cluster by a bootstrap token, and runs it until Ctrl-C. Needs kubectl with an administrator's
# kubeconfig, and this clone after `npm ci`. Arguments go to the kubelet: `--node-ip`, `--pod-cidr`, `--image` …
# NODE: the node's name. DIR: where the kubelet keeps its files.
set -euo pipefail

NODE=${NODE:-kubestage-1}
DIR=${DIR:-$PWD/.kubestage-node}
clone=$(cd "$(dirname "$0")/../.." && pwd)
joiners=system:bootstrappers:kubeadm:default-node-token
mkdir -p "$DIR"

# kubeadm makes these bindings; other installers may not.
bind() { kubectl get clusterrolebinding "$1" > /dev/null 2>&1 || kubectl create clusterrolebinding "$1" --clusterrole "$2" --group "$3"; }
bind kubeadm:kubelet-bootstrap system:node-bootstrapper "$joiners"
bind kubeadm:node-autoapprove-bootstrap system:certificates.k8s.io:certificatesigningrequests:nodeclient "$joiners"
bind kubeadm:node-autoapprove-certificate-rotation system:certificates.k8s.io:certificatesigningrequests:selfnodeclient system:nodes

# What `kubeadm token create` would make: an id, a secret, and an hour to live.
word() { LC_ALL=C tr -dc a-z0-9 < /dev/urandom | head -c "$1" || true; }
id=$(word 6) secret=$(word 16)
kubectl apply -f - << EOF
apiVersion: v1
kind: Secret
metadata: {name: bootstrap-token-$id, namespace: kube-system}
type: bootstrap.kubernetes.io/token
stringData:
  token-id: "$id"
  token-secret: "$secret"
  expiration: $(date -u -d '+1 hour' +%Y-%m-%dT%H:%M:%SZ)
  usage-bootstrap-authentication: "true"
  auth-extra-groups: $joiners
EOF

bootstrap=$DIR/bootstrap.kubeconfig
server=$(kubectl config view --raw --minify -o 'jsonpath={.clusters[0].cluster.server}')
kubectl config view --raw --minify --flatten -o 'jsonpath={.clusters[0].cluster.certificate-authority-data}' | base64 -d > "$DIR/ca.crt"
{
  kubectl config --kubeconfig "$bootstrap" set-cluster cluster --server "$server" --certificate-authority "$DIR/ca.crt" --embed-certs
  kubectl config --kubeconfig "$bootstrap" set-credentials token --token "$id.$secret"
  kubectl config --kubeconfig "$bootstrap" set-context join --cluster cluster --user token
  kubectl config --kubeconfig "$bootstrap" use-context join
} > /dev/null

export PATH=$clone/node_modules/.bin:$PATH
exec node "$clone/kubelet/main.ts" --bootstrap-kubeconfig "$bootstrap" --root-dir "$DIR" --node-name "$NODE" "$@"
