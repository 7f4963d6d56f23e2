# For the scripts beside it. `bootstrap_token KUBECTL…` creates a bootstrap token by this kubectl, as `kubeadm token create` does, and sets `token`.
# The token lives for an hour; its group may join nodes.
joiners=system:bootstrappers:kubeadm:default-node-token

bootstrap_token() {
  local id secret
  id=$(word 6) secret=$(word 16)
  "$@" apply -f - << EOF
apiVersion: v1
kind: Secret
metadata: {name: bootstrap-token-$id, namespace: kube-system}
type: bootstrap.kubernetes.io/token
stringData:
  token-id: "$id"
  token-secret: "$secret"
  expiration: $(date -u -d '+1 hour' +%Y-%m-%dT%H:%M:%SZ)
  usage-bootstrap-authentication: "true"
  usage-bootstrap-signing: "true"
  auth-extra-groups: $joiners
EOF
  token=$id.$secret
}

# bootstrap_kubeconfig FILE SERVER CA: a kubeconfig that has the token.
bootstrap_kubeconfig() {
  {
    kubectl config --kubeconfig "$1" set-cluster cluster --server "$2" --certificate-authority "$3" --embed-certs
    kubectl config --kubeconfig "$1" set-credentials token --token "$token"
    kubectl config --kubeconfig "$1" set-context join --cluster cluster --user token
    kubectl config --kubeconfig "$1" use-context join
  } > /dev/null
}

word() { LC_ALL=C tr -dc a-z0-9 < /dev/urandom | head -c "$1" || true; }
