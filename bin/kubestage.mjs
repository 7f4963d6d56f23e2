#!/usr/bin/env node
// Plain JavaScript that old Nodes understand, too: it finds the right Node and the program, and does nothing else.
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { useCompileCache } from './compile-cache.mjs'

/** An import would load the streams of files, too. */
const { existsSync, fstatSync } = process.getBuiltinModule?.('node:fs') ?? (await import('node:fs'))
/** What the sources are written for, and tested with most. What is built of them works from `oldest` on. */
const preferred = 26
const oldest = '22.19'
/** V8's space for young objects would grow to 64 MB while thousands are created: a fifth less memory, for 2 % more work. */
const memory = '--max-semi-space-size=8'
const self = fileURLToPath(import.meta.url)
const root = join(dirname(self), '..')
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
if (!isAtLeast(isSource ? `${preferred}` : oldest)) launch([await otherNode(), memory, self, ...process.argv.slice(2)])
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
  const { main, wantsGuardian } = await import(isSource ? source : join(root, 'dist', 'cli', 'main.js'))
  const guardian = (await wantsGuardian(process.argv.slice(2), process.env)) && (await ownGuardian())
  if (guardian) becomeGuarded(guardian)
  else await main()
}

/** The command line of a guardian that starts this command; undefined without Perl. */
async function ownGuardian() {
  const { guarded } = await import('./guarded.mjs')
  return guarded(root, [process.execPath, ...process.execArgv, self, ...process.argv.slice(2)])
}

/** Becomes the guardian, which starts the command again. A launcher's pipe would be closed by that: then this process stays. */
function becomeGuarded(guardian) {
  if (process.env.KUBESTAGE_LAUNCHER_FD !== undefined || !process.execve) return launch(guardian)
  process.removeAllListeners('warning') // that execve is experimental
  process.execve(guardian[0], ['perl', ...guardian.slice(1)], process.env)
}

/** Each ends with the other, even by SIGKILL: the child sees the end of the pipe, this process sees the child's exit. */
async function launch([command, ...args]) {
  const [{ spawn }, { constants }] = await Promise.all([import('node:child_process'), import('node:os')])
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
