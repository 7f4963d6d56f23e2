#!/bin/sh
# Runs as the user redis, who owns its folder, and takes options for those of redis-server.
set -e
case ${1:-} in -* | *.conf) set -- redis-server "$@" ;; esac
if [ "$1" = redis-server ] && [ "$(id -u)" = 0 ]; then
  find . \! -user redis -exec chown redis '{}' +
  exec setpriv --reuid redis --regid redis --clear-groups -- "$0" "$@"
fi
exec "$@"
