import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Entry, file, folder, symlink } from '../harness/image-archives.ts'
import type { Recipe } from './debian-image.ts'

const own = (name: string): string => readFileSync(join(import.meta.dirname, 'files', name), 'utf8')
const program = (place: string, name: string): Entry => file(place, own(name), { mode: 0o755 })
const owned = (place: string, id: number): Entry => folder(place, { uid: id, gid: id })
const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const env = (...more: string[]): string[] => [`PATH=${path}`, ...more]

/** The scripts of packages write these files. */
const phpModules = (...names: string[]): Entry[] =>
  names.map((name, index) => file(`etc/php/8.2/apache2/conf.d/2${index}-${name}.ini`, `extension=${name}.so\n`))

const nginx: Omit<Recipe, 'name'> = {
  packages: [['nginx-light']],
  users: { nginx: 101 },
  entries: [
    file('etc/nginx/nginx.conf', own('nginx.conf')),
    file('etc/nginx/conf.d/default.conf', own('nginx-default.conf')),
    file('usr/share/nginx/html/index.html', '<title>Welcome to nginx!</title>\n'),
    symlink('var/log/nginx/access.log', '/dev/stdout'),
    symlink('var/log/nginx/error.log', '/dev/stderr'),
  ],
  config: {
    Env: env('NGINX_VERSION=1.22.1'),
    Cmd: ['nginx', '-g', 'daemon off;'],
    ExposedPorts: { '80/tcp': {} },
    StopSignal: 'SIGQUIT',
  },
}

const redis: Omit<Recipe, 'name'> = {
  packages: [['redis-server']],
  users: { redis: 999 },
  entries: [program('usr/local/bin/docker-entrypoint.sh', 'redis-entrypoint.sh'), owned('data', 999)],
  config: {
    Env: env('REDIS_VERSION=7.0.15'),
    Entrypoint: ['docker-entrypoint.sh'],
    Cmd: ['redis-server', '--protected-mode', 'no'],
    WorkingDir: '/data',
    Volumes: { '/data': {} },
  },
}

const apache = ['apache2', 'libapache2-mod-php']
const apacheEntries = [
  program('usr/local/bin/apache2-foreground', 'apache-foreground.sh'),
  ...['mpm_prefork', 'php8.2'].flatMap((name) =>
    [`${name}.load`, `${name}.conf`].map((one) =>
      symlink(`etc/apache2/mods-enabled/${one}`, `../mods-available/${one}`),
    ),
  ),
  ...[
    'authz_core',
    'authz_host',
    'dir',
    'mime',
    'alias',
    'env',
    'deflate',
    'filter',
    'setenvif',
    'rewrite',
    'negotiation',
  ].map((name) => symlink(`etc/apache2/mods-enabled/${name}.load`, `../mods-available/${name}.load`)),
  ...['dir', 'mime', 'alias'].map((name) =>
    symlink(`etc/apache2/mods-enabled/${name}.conf`, `../mods-available/${name}.conf`),
  ),
  file('etc/apache2/conf-enabled/docker.conf', 'ServerName localhost\nErrorLog /dev/stderr\n'),
  symlink('etc/apache2/sites-enabled/000-default.conf', '../sites-available/000-default.conf'),
  symlink('var/log/apache2/access.log', '/dev/stdout'),
  symlink('var/log/apache2/error.log', '/dev/stderr'),
  owned('var/www/html', 33),
  ...phpModules('session', 'ctype', 'fileinfo', 'iconv', 'pdo', 'tokenizer'),
]
const apacheConfig = {
  Env: env('PHP_VERSION=8.2'),
  Cmd: ['apache2-foreground'],
  WorkingDir: '/var/www/html',
  StopSignal: 'SIGWINCH',
}

/** Makes the images that the manifests name. */
export const recipes: readonly Recipe[] = [
  { name: 'nginx:1.14.2', ...nginx },
  { name: 'redis:6.0.5', ...redis },
  {
    name: 'us-docker.pkg.dev/google-samples/containers/gke/gb-redis-follower:v2',
    ...redis,
    entries: [...(redis.entries ?? []), program('run.sh', 'redis-follower.sh')],
    config: { ...redis.config, Cmd: ['/bin/sh', '-c', '/run.sh'] },
  },
  {
    name: 'us-docker.pkg.dev/google-samples/containers/gke/gb-frontend:v5',
    packages: [apache, ['php-redis']],
    entries: [
      ...apacheEntries,
      ...phpModules('igbinary', 'redis'),
      file('var/www/html/guestbook.php', own('guestbook.php')),
      file('var/www/html/index.html', '<title>Guestbook</title>\n'),
    ],
    config: apacheConfig,
  },
  {
    name: 'mysql:8.0',
    packages: [['mariadb-server']],
    users: { mysql: 999 },
    entries: [
      program('usr/local/bin/docker-entrypoint.sh', 'mysql-entrypoint.sh'),
      owned('var/lib/mysql', 999),
      owned('run/mysqld', 999),
    ],
    config: {
      Env: env(),
      Entrypoint: ['docker-entrypoint.sh'],
      Cmd: ['mysqld'],
      Volumes: { '/var/lib/mysql': {} },
    },
  },
  {
    name: 'wordpress:6.2.1-apache',
    packages: [apache, ['wordpress']],
    entries: [
      ...apacheEntries,
      ...phpModules('mysqlnd', 'mysqli', 'dom', 'gd', 'xml', 'simplexml'),
      program('usr/local/bin/docker-entrypoint.sh', 'wordpress-entrypoint.sh'),
      file('usr/src/wp-config.php', own('wp-config.php')),
      file('etc/ssl/certs/ca-certificates.crt', ''),
    ],
    config: { ...apacheConfig, Entrypoint: ['docker-entrypoint.sh'], Volumes: { '/var/www/html': {} } },
  },
  {
    name: 'postgres:15',
    packages: [['postgresql-15']],
    users: { postgres: 999 },
    entries: [
      program('usr/local/bin/docker-entrypoint.sh', 'postgres-entrypoint.sh'),
      owned('var/lib/postgresql/data', 999),
      folder('run/postgresql', { uid: 999, gid: 999, mode: 0o3777 }),
    ],
    config: {
      Env: [`PATH=/usr/lib/postgresql/15/bin:${path}`, 'LANG=C.UTF-8', 'PGDATA=/var/lib/postgresql/data'],
      Entrypoint: ['docker-entrypoint.sh'],
      Cmd: ['postgres', '-c', 'listen_addresses=*', '-c', 'unix_socket_directories=/var/run/postgresql'],
      StopSignal: 'SIGINT',
      Volumes: { '/var/lib/postgresql/data': {} },
    },
  },
  {
    name: 'rsyslog/rsyslog:8',
    packages: [['rsyslog']],
    config: { Env: env(), Cmd: ['rsyslogd', '-n', '-i', 'NONE'] },
  },
  {
    name: 'registry.k8s.io/hpa-example:latest',
    packages: [apache],
    entries: [...apacheEntries, file('var/www/html/index.php', own('hpa-index.php'))],
    config: apacheConfig,
  },
  {
    name: 'ghcr.io/kubestage/shop:v1',
    packages: [['python3-grpcio']],
    entries: [program('usr/local/bin/shop', 'shop.py')],
    config: { Env: env('PYTHONDONTWRITEBYTECODE=1'), Entrypoint: ['shop'] },
  },
  {
    name: 'registry.k8s.io/ingress-nginx/controller:v1.11.2',
    packages: [['nginx-light'], ['python3']],
    users: { nginx: 101 },
    entries: [program('nginx-ingress-controller', 'ingress-controller.py')],
    config: { Env: env(), Entrypoint: ['/nginx-ingress-controller'], User: 'nginx' },
  },
  {
    name: 'docker.io/bitnami/redis:7.2.5-debian-12-r0',
    packages: [['redis-server']],
    entries: [folder('opt/bitnami/redis/etc', { mode: 0o775 })],
    config: { Env: env('BITNAMI_APP_NAME=redis'), Cmd: ['redis-server'], User: '1001' },
  },
  { name: 'docker.io/bitnami/os-shell:12-debian-12-r21', packages: [], config: { Env: env(), Cmd: ['/bin/bash'] } },
  {
    name: 'curlimages/curl:8.8.0',
    packages: [['curl']],
    users: { curl_user: 100 },
    config: { Env: env(), Entrypoint: ['curl'], User: 'curl_user' },
  },
  { name: 'busybox:1.28', packages: [], config: { Env: env(), Cmd: ['sh'] } },
  {
    name: 'quay.io/coreos/etcd:v3.4.23',
    packages: [['etcd-server', 'etcd-client']],
    config: { Env: env(), Cmd: ['etcd'] },
  },
]

/** Programs with which tests ask: curl, and clients of databases; psql, without the Perl around it. */
export const client: Recipe = {
  name: 'kubestage.test/client:1',
  packages: [['curl'], ['redis-tools', 'postgresql-client-15']],
  config: { Env: [`PATH=/usr/lib/postgresql/15/bin:${path}`], Cmd: ['sleep', 'infinity'] },
}
