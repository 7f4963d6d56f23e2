#!/usr/bin/env bash
# What a watch prints while things change: `watching.sh WATCH CHANGE...`, all of them commands.
# A change is made when there is a line about the one before it; the first when there is a line about what was there.
set -euo pipefail

exec {lines}< <(exec $1 2>&1)
watch=$!
trap 'kill $watch' EXIT
shift
while IFS= read -r -t 20 -u $lines line; do
  echo "$line"
  [[ $line == *NAME* ]] && continue
  (($#)) || exit 0
  $1 > /dev/null
  shift
done
echo "nothing more was said" >&2
exit 1
