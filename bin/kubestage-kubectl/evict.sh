# kubectl kubestage evict: kubectl has no such command, but can find pods and send a body. Needs next-kubectl.sh.

evict() {
  reason= given= grace= query= awaited=
  # Flags for the server and the credentials, quoted for eval; finding pods and evicting them both need these.
  connection=
  count=$#
  while [ "$count" -gt 0 ]; do
    word=$1
    shift
    count=$((count - 1))
    case $awaited in
      reason | grace)
        eval "$awaited=\$word"
        awaited=
        continue
        ;;
      connection) connection="$connection $(quoted "$word")" awaited= ;;
      *)
        case $word in
          --reason) given=yes awaited=reason ;;
          --reason=*) given=yes reason=${word#*=} ;;
          --grace-period) awaited=grace ;;
          --grace-period=*) grace=${word#*=} ;;
          --dry-run=server) query='?dryRun=All' ;;
        esac
        case $word in --reason | --reason=* | --grace-period | --grace-period=* | --dry-run=server) continue ;; esac
        case ${word%%=*} in
          -n | --namespace) ;;
          *)
            if takes_value "${word%%=*}"; then
              connection="$connection $(quoted "$word")"
              case $word in *=*) ;; *) awaited=connection ;; esac
            fi
            ;;
        esac
        ;;
    esac
    set -- "$@" "$word"
  done
  case $grace in *[!0-9]*)
    echo "error: invalid argument \"$grace\" for \"--grace-period\" flag" >&2
    exit 1
    ;;
  esac
  case $awaited in reason | grace)
    echo "error: a flag needs an argument" >&2
    exit 1
    ;;
  esac
  prefix=${given:+$(reason_prefix "$reason")}
  found=$("$kubectl" get pods "$@" --no-headers --output=custom-columns=:metadata.namespace,:metadata.name) || exit
  printf '%s\n' "$found" | {
    code=0
    while read -r namespace name; do
      [ -n "$name" ] || continue
      evict_pod "$namespace" "$name" || code=1
    done
    exit $code
  }
}

evict_pod() {
  options=
  [ -z "$grace" ] || options=",\"deleteOptions\":{\"gracePeriodSeconds\":$grace}"
  body="{\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\"metadata\":{\"namespace\":\"$1\",\"name\":\"$2\"}$options}"
  path=$prefix/api/v1/namespaces/$1/pods/$2/eviction$query
  printf %s "$body" | eval "\"\$kubectl\" create$connection --raw=\"\$path\" --filename=-" >/dev/null || return
  echo "pod/$2 evicted${query:+ (server dry run)}"
}
