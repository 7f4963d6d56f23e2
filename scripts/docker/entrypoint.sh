#!/bin/bash
# Process 1 of the container: starts one part of Kubestage, passes signals on, and takes in the orphans that containers leave.
# Usage: entrypoint.sh up|apiserver|kubelet [flags], or any other program.
set -u
root=/opt/kubestage
state=/var/lib/kubestage
join=/var/lib/kubestage-join
user=1000

part=${1:-up}
[ $# -eq 0 ] || shift
case $part in
  up) set -- kubestage up --host 0.0.0.0 --state-dir "$state" --storage "sqlite:$state/objects.db" "$@" ;;
  apiserver)
    set -- node "$root/dist/apiserver/main.js" --host 0.0.0.0 --cert-dir "$state/pki" --kubeconfig "$state/kubeconfig" \
      --storage "sqlite:$state/objects.db" "$@"
    ;;
  kubelet)
    set -- node "$root/dist/kubelet/main.js" --root-dir "$state/kubelet" --node-ip auto --healthz-port 10248 "$@"
    ;;
  *) exec "$part" "$@" ;;
esac

# Where time runs faster it began for all parts at once; the API server says when, and kubelets wait until it does.
if [ "$part" != up ] && [ "${KUBESTAGE_TIME_SCALE:-1}" != 1 ]; then
  [ "$part" != apiserver ] || [ -s "$join/time-origin" ] || date -u +%FT%TZ >"$join/time-origin"
  until [ -s "$join/time-origin" ]; do sleep 0.05; done
  KUBESTAGE_TIME_ORIGIN=$(<"$join/time-origin")
  export KUBESTAGE_TIME_ORIGIN
fi

# Rights are needed by a kubelet that gives its containers namespaces of their own, and by no other.
if [ "$(id -u)" = 0 ] && [ -z "${KUBESTAGE_KEEP_ROOT:-}" ]; then
  chown "$user:$user" "$state"
  set -- setpriv --reuid "$user" --regid "$user" --clear-groups --bounding-set=-all --inh-caps=-all -- "$@"
fi

"$@" &
child=$!
stopped=
trap 'stopped=1; kill -TERM "$child"' TERM INT

# An administrator's kubeconfig for the host: it belongs to the owner of the folder.
if [ -d "${KUBESTAGE_KUBECONFIG_DIR:-/none}" ]; then
  until [ -s "$state/kubeconfig" ] || ! kill -0 "$child" 2>/dev/null; do sleep 0.05; done
  if [ -s "$state/kubeconfig" ]; then
    owner=$(stat -c %u:%g "$KUBESTAGE_KUBECONFIG_DIR")
    install -o "${owner%:*}" -g "${owner#*:}" -m 600 "$state/kubeconfig" "$KUBESTAGE_KUBECONFIG_DIR/kubeconfig"
  fi
fi

wait "$child"
status=$?
# A signal ends the first wait early; the program's own end is what counts.
while [ -n "$stopped" ] && kill -0 "$child" 2>/dev/null; do
  wait "$child"
  status=$?
done
exit "$status"
