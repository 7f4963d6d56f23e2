#!/bin/bash
# Makes a database where there is none, with the users and the passwords of the environment, and serves it.
set -eo pipefail
case ${1:-} in -*) set -- mysqld "$@" ;; esac
[ "$1" = mysqld ] || exec "$@"
data=/var/lib/mysql
if [ "$(id -u)" = 0 ]; then
  mkdir -p "$data" /var/run/mysqld
  find "$data" /var/run/mysqld \! -user mysql -exec chown mysql '{}' +
  exec setpriv --reuid mysql --regid mysql --init-groups -- "$0" "$@"
fi
if [ ! -d "$data/mysql" ]; then
  : "${MYSQL_ROOT_PASSWORD:?needed to make a database}" "${MYSQL_DATABASE:?}" "${MYSQL_USER:?}"
  mariadb-install-db --datadir="$data" --skip-test-db --auth-root-authentication-method=normal >/dev/null
  mariadbd --no-defaults --datadir="$data" --bootstrap <<SQL
FLUSH PRIVILEGES;
ALTER USER 'root'@'localhost' IDENTIFIED BY '$MYSQL_ROOT_PASSWORD';
CREATE USER 'root'@'%' IDENTIFIED BY '$MYSQL_ROOT_PASSWORD';
GRANT ALL ON *.* TO 'root'@'%' WITH GRANT OPTION;
CREATE DATABASE $MYSQL_DATABASE;
CREATE USER '$MYSQL_USER'@'%' IDENTIFIED BY '$MYSQL_PASSWORD';
GRANT ALL ON $MYSQL_DATABASE.* TO '$MYSQL_USER'@'%';
SQL
fi
exec mariadbd --no-defaults --datadir="$data" --bind-address=0.0.0.0 --socket=/var/run/mysqld/mysqld.sock "${@:2}"
