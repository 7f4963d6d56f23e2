#!/bin/sh
# Runs Apache in the foreground, as the images of PHP do.
set -e
: "${APACHE_CONFDIR:=/etc/apache2}"
. "$APACHE_CONFDIR/envvars"
mkdir -p "$APACHE_RUN_DIR" "$APACHE_LOCK_DIR" "$APACHE_LOG_DIR"
rm -f "$APACHE_PID_FILE"
exec apache2 -DFOREGROUND "$@"
