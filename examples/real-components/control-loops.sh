#!/usr/bin/env bash
# Runs the real kube-controller-manager and kube-scheduler on a cluster that was started with
#   kubestage up --detach --scheduler=false --controllers='-*'
# until Ctrl-C. Needs kubectl, openssl, and the two programs in $BIN (default: on the PATH).
# STATE: the cluster's state folder (default .kubestage). Logs and kubeconfigs are in $STATE/real.
set -euo pipefail

STATE=$(cd "${STATE:-.kubestage}" && pwd)
BIN=${BIN:+$BIN/}
mkdir -p "$STATE/real" && cd "$STATE/real"
pki=$STATE/pki
server=$(kubectl --kubeconfig "$STATE/kubeconfig" config view --raw --minify -o 'jsonpath={.clusters[0].cluster.server}')

# A client certificate by the cluster's CA; upstream's roles are bound to these users.
kubeconfig_for() {
  local name=$1 user=$2
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$user" -keyout "$name.key" -out "$name.csr" 2>/dev/null
  openssl x509 -req -in "$name.csr" -CA "$pki/ca.crt" -CAkey "$pki/ca.key" -CAcreateserial -days 365 -out "$name.crt" 2>/dev/null
  kubectl config --kubeconfig "$name.kubeconfig" set-cluster kubestage --server "$server" --certificate-authority "$pki/ca.crt" --embed-certs
  kubectl config --kubeconfig "$name.kubeconfig" set-credentials "$name" --client-certificate "$name.crt" --client-key "$name.key" --embed-certs
  kubectl config --kubeconfig "$name.kubeconfig" set-context "$name" --cluster kubestage --user "$name"
  kubectl config --kubeconfig "$name.kubeconfig" use-context "$name"
}
kubeconfig_for controller-manager system:kube-controller-manager > /dev/null
kubeconfig_for scheduler system:kube-scheduler > /dev/null

# The key that signs service accounts' tokens is made within a second of the start.
for _ in $(seq 100); do [ -s "$pki/sa.key" ] && break; sleep 0.1; done

trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT
"${BIN}kube-controller-manager" --kubeconfig controller-manager.kubeconfig --controllers '*,bootstrapsigner,tokencleaner' \
  --use-service-account-credentials --service-account-private-key-file "$pki/sa.key" --root-ca-file "$pki/ca.crt" \
  --cluster-signing-cert-file "$pki/ca.crt" --cluster-signing-key-file "$pki/ca.key" \
  --leader-elect=false --secure-port 0 > controller-manager.log 2>&1 &
"${BIN}kube-scheduler" --kubeconfig scheduler.kubeconfig --leader-elect=false --secure-port 0 > scheduler.log 2>&1 &
echo "kube-controller-manager and kube-scheduler run; logs in $STATE/real; Ctrl-C stops them"
wait -n
echo "one of them has ended; see its log" >&2
exit 1
