#!/bin/sh
':' /*
# To a shell this file is a script, which becomes the guardian of a cluster whose objects outlive it before Node starts: that would
# start twice. Where anything is in doubt Node decides, below. See docs/decisions/003.
guarded() {
  [ "${1-}" = up ] && [ -z "${KUBESTAGE_GUARDIAN+set}" ] || return 1
  for word in "$@"; do
    case $word in -d | --detach | -h | --help) return 1 ;; esac
  done
  case " $* " in
  *" --storage=sqlite"* | *" --storage sqlite"* | *" --storage=etcd"* | *" --storage etcd"*) ;;
  *" --storage"*) return 1 ;;
  *) case ${KUBESTAGE_STORAGE-} in sqlite* | etcd*) ;; *) return 1 ;; esac ;;
  esac
  case $(node -v 2>&1) in v2[6-9].* | v[3-9][0-9].*) ;; *) return 1 ;; esac
  case $(uname -sm) in 'Linux x86_64') prctl=157 ;; 'Linux aarch64') prctl=167 ;; *) prctl=0 ;; esac
  file=$(readlink -f "$0") && command -v perl >/dev/null || return 1
  for folder in cluster dist/cluster; do
    guardian=${file%/bin/kubestage.mjs}/$folder/supervisor/guardian.pl
    [ ! -e "$guardian" ] || return 0
  done
  return 1
}
if guarded "$@"; then exec perl "$guardian" "$prctl" node "$file" "$@"; fi
exec node "$0" "$@"
*/
// Plain JavaScript that old Nodes understand, too: it finds the right Node and the program, and does nothing else.
import { spawn } from 'node:child_process'
import { existsSync, fstatSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { useCompileCache } from './compile-cache.mjs'

/** What the sources are written for, and tested with most. What is built of them works from `oldest` on. */
const preferred = 26
const oldest = '22.19'
/** V8's space for young objects would grow to 64 MB while thousands are created: a fifth less memory, for 2 % more work. */
const memory = '--max-semi-space-size=8'
const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const source = join(root, 'cli', 'main.ts')
const isSource = existsSync(source)

/** By numbers alone: to compare texts as people do takes 2 MB and as long as all the rest here. */
const isAtLeast = (wanted) => {
  const [[major, minor], [wantedMajor, wantedMinor = 0]] = [process.versions.node, wanted].map((v) =>
    v.split('.').map(Number),
  )
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)
}
checkLauncher()
if (!isAtLeast(isSource ? `${preferred}` : oldest)) runUnder(await otherNode())
else if (process.argv[2] === 'up') await runGuarded()
else await runHere()

/** The pipe of a launcher, where its variable names one: the program checks the same (shared/concurrency/check-descriptor.ts). */
function checkLauncher() {
  const fd = process.env.KUBESTAGE_LAUNCHER_FD
  if (fd === undefined) return
  try {
    if (/^\d{1,9}$/.test(fd) && (fstatSync(Number(fd)).isFIFO() || fstatSync(Number(fd)).isSocket())) return
  } catch {
    // It is not open.
  }
  fail('KUBESTAGE_LAUNCHER_FD is an internal variable of kubestage up, and its value is not valid: unset it')
}

async function runHere() {
  useCompileCache(root)
  const { main } = await import(isSource ? source : join(root, 'dist', 'cli', 'main.js'))
  await main()
}

/** Becomes the guardian of a server, where one is wanted. A pipe of a launcher would be closed by that: then this process stays. */
async function runGuarded() {
  const { guarded, wantsGuardian } = await import('./guarded.mjs')
  const self = [process.execPath, ...process.execArgv, fileURLToPath(import.meta.url), ...process.argv.slice(2)]
  const guardian = wantsGuardian(process.argv.slice(2), process.env) ? guarded(root, self) : undefined
  if (!guardian) return await runHere()
  if (process.env.KUBESTAGE_LAUNCHER_FD !== undefined || !process.execve) return launch(guardian)
  process.removeAllListeners('warning') // that execve is experimental
  process.execve(guardian[0], ['perl', ...guardian.slice(1)], process.env)
}

async function runUnder(node) {
  const { guarded, wantsGuardian } = await import('./guarded.mjs')
  const self = [node, memory, fileURLToPath(import.meta.url), ...process.argv.slice(2)]
  launch((wantsGuardian(process.argv.slice(2), process.env) && guarded(root, self)) || self)
}

/** Each ends with the other, even by SIGKILL: the child sees the end of the pipe, this process sees the child's exit. */
async function launch([command, ...args]) {
  const child = spawn(command, args, {
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    env: { ...process.env, KUBESTAGE_LAUNCHER_FD: '3' },
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => fail(`cannot run ${command}: ${error.message}`))
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
  const fd = process.env.KUBESTAGE_LAUNCHER_FD
  if (fd === undefined) return
  const { Socket } = await import('node:net')
  const end = () => child.kill('SIGKILL')
  new Socket({ fd: Number(fd), readable: true, writable: false }).on('close', end).on('error', end).resume().unref()
}

async function otherNode() {
  const { fetchedNode, installedNode } = await import('./node/index.mjs')
  const needs = `needs Node ${isSource ? preferred : oldest} or newer; this is Node ${process.versions.node}`
  try {
    const installed = installedNode()
    if (!installed && isSource) fail(`${needs}; none is installed: run npm ci (without --omit=optional)`)
    return installed || fetchedNode()
  } catch (error) {
    return fail(`${needs}; ${error.message}`)
  }
}

function fail(message) {
  console.error(`kubestage: ${message}`)
  process.exit(1)
}
