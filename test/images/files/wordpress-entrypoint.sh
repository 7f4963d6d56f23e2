#!/bin/bash
# Copies WordPress to where Apache serves it, with the database of the environment, and starts Apache.
set -eo pipefail
if [ "$1" = apache2-foreground ] && [ ! -e index.php ]; then
  echo "WordPress not found in $PWD - copying now..."
  cp -rL /usr/share/wordpress/. .
  rm -f wp-config.php
  cp /usr/src/wp-config.php wp-config.php
  [ "$(id -u)" != 0 ] || chown -R www-data:www-data .
fi
exec "$@"
