#!/usr/bin/env node
// Plain JavaScript that old Nodes understand, too: it finds the right Node and the program, and does nothing else.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
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
if (isAtLeast(isSource ? `${preferred}` : oldest)) await runHere()
else runUnder(await otherNode())

async function runHere() {
  useCompileCache(root)
  const { main } = await import(isSource ? source : join(root, 'dist', 'cli', 'main.js'))
  await main()
}

/** Each ends with the other, even by SIGKILL: the child sees the end of the pipe, this process sees the child's exit. */
function runUnder(node) {
  const child = spawn(node, [memory, fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    env: { ...process.env, KUBESTAGE_LAUNCHER_FD: '3' },
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => fail(`cannot run ${node}: ${error.message}`))
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
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
