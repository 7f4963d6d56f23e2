# Shared by the kubectl shim and the plugin. POSIX sh; a script that sources it may call:
#   next_kubectl           sets kubectl to the first one on PATH that is not Kubestage's
#   command_word ARGS…     sets command to kubectl's command: the first word that is neither a flag nor a flag's value
#   is_delete_with_reason ARGS…
#   with_reason ARGS…      becomes kubectl ARGS… without --reason, which goes to the server in its address, or in the path of --raw

next_kubectl() {
  rest=$PATH:
  while [ -n "$rest" ]; do
    folder=${rest%%:*}
    rest=${rest#*:}
    # Every installation's folder has this name, so that two of them never call each other.
    case ${folder%/} in */kubestage-kubectl) continue ;; esac
    kubectl=${folder:-.}/kubectl
    [ -f "$kubectl" ] && [ -x "$kubectl" ] && return 0
  done
  echo 'kubestage: there is no kubectl on PATH: install one (1.27 or newer)' >&2
  return 127
}

# Global flags that may stand before the command with their value as the next word.
takes_value() {
  case $1 in
    -n | --namespace | -s | --server | --context | --cluster | --user | --kubeconfig | --as | --as-group | --as-uid | \
      --as-user-extra | --cache-dir | --certificate-authority | --client-certificate | --client-key | --token | \
      --tls-server-name | --request-timeout | --username | --password | --profile | --profile-output | --kuberc | \
      -v | --v | --vmodule | --log-flush-frequency) return 0 ;;
  esac
  return 1
}

command_word() {
  command=
  while [ $# -gt 0 ]; do
    if takes_value "$1"; then
      shift
    else
      case $1 in
        -*) ;;
        *)
          command=$1
          return
          ;;
      esac
    fi
    [ $# -gt 0 ] && shift
  done
}

is_delete_with_reason() {
  command_word "$@"
  [ "$command" = delete ] || return 1
  for word; do
    case $word in
      --) return 1 ;;
      --reason | --reason=*) return 0 ;;
    esac
  done
  return 1
}

with_reason() {
  reason= given= server= raw= awaited=
  # What decides which server is meant, for the question below. Words are quoted for eval.
  selection=
  count=$#
  while [ "$count" -gt 0 ]; do
    word=$1
    shift
    count=$((count - 1))
    case $awaited in
      reason)
        reason=$word awaited=
        continue
        ;;
      server | raw)
        eval "$awaited=\$word"
        awaited=
        continue
        ;;
      selection) selection="$selection $(quoted "$word")" awaited= ;;
      value) awaited= ;;
      *)
        case $word in
          --)
            # The rest is no flag, whatever it looks like.
            set -- "$@" --
            while [ "$count" -gt 0 ]; do
              word=$1
              shift
              set -- "$@" "$word"
              count=$((count - 1))
            done
            break
            ;;
          --reason)
            given=yes awaited=reason
            continue
            ;;
          --reason=*)
            given=yes reason=${word#--reason=}
            continue
            ;;
          --server | -s)
            awaited=server
            continue
            ;;
          --server=* | -s=*)
            server=${word#*=}
            continue
            ;;
          --raw)
            awaited=raw
            continue
            ;;
          --raw=*)
            raw=${word#*=}
            continue
            ;;
          --kubeconfig | --context | --cluster | --user) awaited=selection selection="$selection $(quoted "$word")" ;;
          --kubeconfig=* | --context=* | --cluster=* | --user=*) selection="$selection $(quoted "$word")" ;;
          *) if takes_value "$word"; then awaited=value; fi ;;
        esac
        ;;
    esac
    set -- "$@" "$word"
  done
  case $awaited in reason | server | raw)
    echo "error: flag needs an argument: --$awaited" >&2
    exit 1
    ;;
  esac
  # A raw URI carries the reason alone: kubectl 1.33 puts it in the place of the path in the server's address, 1.35
  # appends it to that path.
  if [ -n "$raw" ]; then
    exec "$kubectl" ${server:+--server="$server"} --raw="${given:+$(reason_prefix "$reason")}$raw" "$@"
  fi
  if [ -z "$given" ]; then exec "$kubectl" "$@"; fi
  if [ -z "$server" ]; then
    server=$(eval "\"\$kubectl\" config view --minify$selection --output='jsonpath={.clusters[0].cluster.server}'") || exit
  fi
  # Its cache goes by the address, and would keep a folder for each reason.
  exec "$kubectl" --server="${server%/}$(reason_prefix "$reason")" --cache-dir=/dev/null "$@"
}

# What stands before the path of a request that carries the reason.
reason_prefix() {
  printf /kubestage-reason-
  printf %s "$1" | base64 | tr -d '\n=' | tr '+/' '-_'
}

quoted() {
  printf "'"
  printf %s "$1" | sed "s/'/'\\\\''/g"
  printf "'"
}
