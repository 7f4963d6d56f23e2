# What kubectl says of delete, with --reason among its flags: help and completion. Needs next-kubectl.sh.

reason_meaning='Why the objects are deleted. It is kept in metadata.reason and delivered to the preStop hooks of pods. Needs a Kubestage server.'

# is_delete_help ARGS…     kubectl delete --help, or kubectl help delete
is_delete_help() {
  if [ "$command" = help ]; then
    while [ "$1" != help ]; do shift; done
    [ $# -eq 2 ] && [ "$2" = delete ]
    return
  fi
  [ "$command" = delete ] || return 1
  for word; do
    case $word in
      --) return 1 ;;
      -h | --help) return 0 ;;
    esac
  done
  return 1
}

delete_help() {
  told=
  "$kubectl" delete --help | while IFS= read -r line; do
    case $line in
      *' --recursive='* | Usage:*)
        [ -n "$told" ] || printf "    --reason='':\n\t%s\n\n" "$reason_meaning"
        told=yes
        ;;
    esac
    printf '%s\n' "$line"
  done
}

# is_delete_completion ARGS…     what a shell asks kubectl: __complete WORDS… and the word at the cursor
is_delete_completion() {
  case $1 in __complete | __completeNoDesc) ;; *) return 1 ;; esac
  shift
  command_word "$@"
  [ "$command" = delete ]
}

# kubectl completes all the other words, and does not see --reason.
complete_delete() {
  asked=$1 awaited= given= ended= word=
  count=$#
  while [ "$count" -gt 0 ]; do
    word=$1
    shift
    count=$((count - 1))
    [ "$word" != -- ] || [ "$count" -eq 0 ] || ended=yes
    if [ -z "$ended" ]; then
      if [ -n "$awaited" ]; then
        [ "$count" -gt 0 ] || no_completion
        awaited=
        continue
      fi
      case $word in
        --reason=*)
          [ "$count" -gt 0 ] || no_completion
          given=yes
          continue
          ;;
        --reason)
          if [ "$count" -gt 0 ]; then
            given=yes awaited=yes
            continue
          fi
          ;;
      esac
    fi
    set -- "$@" "$word"
  done
  case $given$ended$word in
    -*)
      case --reason in "$word"*)
        if [ "$asked" = __complete ]; then printf '%s\t%s\n' --reason "$reason_meaning"; else echo --reason; fi
        ;;
      esac
      ;;
  esac
  exec "$kubectl" "$@"
}

# A reason is free text: the directive tells the shell to offer no files either.
no_completion() {
  echo :4
  exit
}
