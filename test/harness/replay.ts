import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { repository, type TestCluster } from './cluster.ts'

const folder = join(repository, 'test', 'golden')

export interface Replay {
  /** Each scenario of the file, with what differs; none where all answers are equal. */
  differences: Map<string, string[]>
}

/** Sends the recorded requests of one file of test/golden/api and holds the answers against a real server's. */
export async function replayApi(
  { kubeconfigJson }: Pick<TestCluster, 'kubeconfigJson'>,
  file: string,
): Promise<Replay> {
  const recording = join(folder, 'api', file)
  const output = await run([join(folder, 'golden.mjs'), 'replay', '--json', '--kubeconfig', kubeconfigJson, recording])
  const scenarios = JSON.parse(readFileSync(recording, 'utf8')) as { name: string }[]
  const failed = new Map(
    output
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as { scenario: string; differences: { step: string; found: string[] }[] })
      .map(({ scenario, differences }) => [scenario, differences.flatMap(({ step, found }) => [step, ...found])]),
  )
  return { differences: new Map(scenarios.map(({ name }) => [name, failed.get(name) ?? []])) }
}

/** Plays the quick kubelet scenarios and compares them with what a real kubelet did. */
export async function replayKubelet(cluster: KubeletTarget): Promise<Replay> {
  // All servers of the recordings listen on one port of every address: side by side only where pods have networks of their own.
  const sideBySide = await playKubelet(cluster, `^(?!.*(http|tcp))${quickKubeletScenarios}`, 12)
  const oneByOne = await playKubelet(cluster, `^(?=.*(http|tcp))${quickKubeletScenarios}`, 1)
  return { differences: new Map([...sideBySide.differences, ...oneByOne.differences]) }
}

type KubeletTarget = Pick<TestCluster, 'kubeconfigJson' | 'stateDir'>

async function playKubelet({ kubeconfigJson, stateDir }: KubeletTarget, only: string, lanes: number): Promise<Replay> {
  const out = join(stateDir, 'run.json')
  const tools = join(folder, 'kubelet')
  const observed = join(tools, 'observed.json')
  await run([
    join(tools, 'record.mjs'),
    '--kubeconfig',
    kubeconfigJson,
    '--out',
    out,
    '--only',
    only,
    '--parallel',
    String(lanes),
  ])
  const output = await run([join(tools, 'compare.mjs'), observed, '--run', out, '--only', only])
  const differences = new Map<string, string[]>()
  const names = (JSON.parse(readFileSync(out, 'utf8')) as { name: string }[]).map(({ name }) => name)
  for (const name of names) differences.set(name, [])
  let current: string[] = []
  for (const line of output) {
    const name = /^✗ (\S+)/.exec(line)?.[1]
    if (name) {
      current = []
      differences.set(name, current)
    } else if (line.startsWith('    ')) current.push(line.trim())
  }
  return { differences }
}

/** The tools exit with 1 when something differs: their output says what, so only the output counts. */
function run(args: string[]): Promise<string[]> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { maxBuffer: 1 << 28 }, (error, stdout, stderr) => {
      const usable = !error || /\bscenarios\b/.test(stdout) || args[0]?.endsWith('record.mjs')
      if (usable) resolve(stdout.split('\n'))
      else reject(new Error(`${basename(args[0] ?? '')}: ${stderr || error.message}`))
    })
  })
}

/** Scenario names, each with the class of its reason (see test/golden/README.md). */
export type Later = Record<string, string>
export interface LaterFile {
  api: Later
  kubelet: Later
}

export const laterFile = join(folder, 'later.json')
export const recordings = readdirSync(join(folder, 'api')).sort()

/** The scenarios of the termination sequence; the others take minutes. */
const quickKubeletScenarios = '(del-|prestop-|poststart-|exit|second-delete|force-delete|grace|negative|spec-grace)'

export function readLater(): LaterFile {
  return JSON.parse(readFileSync(laterFile, 'utf8'))
}

/** What the images of the recordings stand for here, as settings of a cluster. */
export function recordedImages(parent: string) {
  const folder = toolFolder(parent)
  return {
    imagePath: { 'busybox:*': folder },
    image: { 'stopsig:*': [join(folder, 'tool'), 'usr1'] },
    imageStopSignal: { 'stopsig:*': 'SIGUSR1' },
  }
}

/** A folder for `--image-path busybox:*=…` that holds the recordings' helper program. */
function toolFolder(parent: string): string {
  const tool = join(repository, 'test', 'harness', 'tool.mjs')
  const file = join(mkdtempSync(join(parent, 'tools-')), 'tool')
  writeFileSync(file, `#!/bin/sh\nexec '${process.execPath}' '${tool}' "$@"\n`, { mode: 0o755 })
  return dirname(file)
}
