# Starts containers for the kubelet, and outlives it: whatever happens to a kubelet, its containers go on and their exits are kept.
# usage: bash shim.sh ROOT [alone]      stdin: a pipe whose other end only the supervisor holds; when it closes, everything ends here.
#
# ROOT/requests              commands, one a line: run ID | pipes NAME COUNT | end
# ROOT/containers/ID.launch  how to start the process: sourced, ends in exec (execs/ID.launch likewise, for commands beside a container)
# ROOT/events/ID.pid, .exit  written when it started and when it ended: process id, exit status as the shell counts it
# ROOT/events/NAME.pipes     ROOT/pipes/NAME.0 … are there, held open so that nobody who writes into them is ever cut off
set -m # each container becomes a process group, with the signals' default actions
umask 077
mkdir -p -- "$1" && cd -- "$1" || exit 1
root=$PWD
mkdir -p events containers execs pipes
rm -f requests pipes/* events/*.pipes
mkfifo requests || exit 1
exec 3<>requests

run() {
  (
    exec 3<&-
    set -m
    (. "$1.launch") &
    id=${1#*/}
    printf '%s\n' "$!" >"events/$id.pid"
    set +m # from here on, wait means: until it has ended, not: until it is stopped
    wait "$!"
    printf '%s\n' "$?" >"events/$id.exit"
  ) &
}

pipes() {
  (
    exec 3<&-
    paths=()
    for ((i = 0; i < $2; i++)); do paths+=("pipes/$1.$i"); done
    mkfifo "${paths[@]}"
    for pipe in "${paths[@]}"; do exec {fd}<>"$pipe"; done
    printf '%s\n' "$BASHPID" >"events/$1.pipes"
    KUBESTAGE_CONTAINER="$root:pipes" exec tail -f /dev/null # marked, so that it goes even when its record is lost
  ) &
}

# Process groups first, then whatever carries our mark in its environment, wherever it went.
kill_all() {
  local file pid
  for file in events/*.pid; do
    [ ! -e "${file%.pid}.exit" ] && read -r pid <"$file" && kill -KILL -- "-$pid"
  done
  for file in $(grep -lzs "^KUBESTAGE_CONTAINER=$root:" /proc/[0-9]*/environ); do
    pid=${file#/proc/}
    kill -KILL "${pid%/environ}"
  done
}

guard=
if [ "$2" != alone ]; then
  (
    exec 3<&- 2>/dev/null
    while read -r _; do :; done
    [ -p requests ] && exec 3<>requests && echo end >&3
    for _ in {1..400}; do
      kill -0 "$$" || break
      sleep 0.02
    done
    kill -KILL "$$" # it was killed, or its files were taken from it: then the rest is ours to do
    kill_all
  ) &
  guard=$!
fi
exec </dev/null 2>/dev/null
printf '%s\n' "$$" >shim.pid

while read -r verb first second <&3; do
  case $verb in
    run) run "$first" ;;
    pipes) pipes "$first" "$second" ;;
    end) break ;;
  esac
done
[ -n "$guard" ] && kill -KILL -- "-$guard"
# Again and again, since what was just being started may have been missed; the last exit is then written.
for _ in {1..250}; do
  kill_all
  [ -z "$(jobs -pr)" ] && break
  sleep 0.02
done
rm -f shim.pid
