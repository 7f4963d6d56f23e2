import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { realClock } from '../../shared/clock/real-clock.ts'
import { ensureClusterPki } from '../../shared/pki/cluster-pki.ts'
import { median } from '../load.ts'
import { builtPackage } from '../package.ts'
import { bareStart, told } from '../processes.ts'
import type { Row } from '../report.ts'
import type { BareStart } from './bare-start.ts'
import type { FirstClusters } from './first-clusters.ts'

const repository = join(import.meta.dirname, '../..')
/** What a Go program's build may take the first time. */
const goTimeoutMs = 300_000

/**
 * How quickly things start: each of `rounds` in a fresh process, in turns with the bare one. The first round fills
 * Node's compile cache, and is not counted.
 */
export async function measureStarts(rounds: number): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'kubestage-starts-'))
  const before = process.env.NODE_COMPILE_CACHE
  process.env.NODE_COMPILE_CACHE = join(folder, 'compiled')
  try {
    return await measured(folder, rounds)
  } finally {
    if (before === undefined) delete process.env.NODE_COMPILE_CACHE
    else process.env.NODE_COMPILE_CACHE = before
    rmSync(folder, { recursive: true, force: true })
  }
}

async function measured(folder: string, rounds: number): Promise<Row[]> {
  const pkiDir = join(folder, 'pki')
  makeCertificates(pkiDir)
  const ours: FirstClusters[] = []
  const bare: BareStart[] = []
  const ready: number[] = []
  for (let i = 0; i <= rounds; i++) {
    ours.push(await told<FirstClusters>('starts/first-clusters.ts', [builtPackage()]))
    bare.push(await bareStart(pkiDir))
    ready.push(await timeToNodeReady(join(folder, `state-${i}`)))
  }
  const of = <T>(all: readonly T[], figure: (one: T) => number): number => median(all.slice(1).map(figure))
  const ceiling = of(bare, ({ ms }) => ms)
  const ms = { unit: 'ms', smallerIsBetter: true }
  return [
    {
      ...ms,
      what: 'first cluster of a process; bare fastify',
      ours: of(ours, ({ first }) => first),
      ceiling,
      limit: 150,
    },
    { ...ms, what: 'second cluster of it', ours: of(ours, ({ second }) => second), limit: 50 },
    { ...ms, what: 'kubestage up to node Ready', ours: of(ready, (time) => time), limit: 700 },
    ...envtestStart(rounds),
    { ...ms, what: 'restore of 1,000 objects', ours: of(ours, ({ restore }) => restore), limit: 20 },
  ]
}

function makeCertificates(directory: string): void {
  ensureClusterPki({
    directory,
    nowMs: realClock.now(),
    host: '127.0.0.1',
    serviceAddress: '10.96.0.1',
    nodeName: 'unused',
  })
}

/** From the command's start until it says that all is ready; then `look` looks at the cluster. */
export async function timeToNodeReady(
  stateDir: string,
  flags: readonly string[] = [],
  look: () => Promise<void> = async () => {},
): Promise<number> {
  const startedMs = realClock.monotonic()
  const command = [join(builtPackage(), 'bin/kubestage.mjs'), 'up', '--port=0', `--state-dir=${stateDir}`, ...flags]
  const child = spawn(process.execPath, command, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  for await (const line of createInterface(child.stdout)) if (line.includes('is ready')) break
  const ms = realClock.monotonic() - startedMs
  child.stdout.resume()
  await look()
  child.kill('SIGINT')
  await ended
  return ms
}

/** By envtest's own Start, where there is a Go to build it with. */
function envtestStart(rounds: number): Row[] {
  const assets = join(builtPackage(), 'envtest')
  const program = join(builtPackage(), 'bin/kubestage.mjs')
  execFileSync(process.execPath, [program, 'envtest-assets', `--assets-dir=${assets}`])
  try {
    const args = ['test', '-run=^$', '-bench=EnvtestStart', `-benchtime=${rounds}x`, '.']
    const output = execFileSync('go', args, {
      cwd: join(repository, 'test/clients/go'),
      env: { ...process.env, KUBEBUILDER_ASSETS: assets },
      encoding: 'utf8',
      timeout: goTimeoutMs,
    })
    const [, nanoseconds] = /EnvtestStart\S*\s+\d+\s+(\d+) ns\/op/.exec(output) ?? []
    const ours = Number(nanoseconds) / 1e6
    return [{ what: "envtest's Start (mean)", unit: 'ms', smallerIsBetter: true, ours, limit: 500 }]
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
