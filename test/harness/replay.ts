import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { repository, type TestCluster } from './cluster.ts'

const folder = join(repository, 'test', 'golden')

export interface Replay {
  /** Each scenario of the file, with what differs; none where all answers are equal. */
  differences: Map<string, string[]>
}

/** Sends the recorded requests of one file of test/golden/api and holds the answers against a real server's. */
export async function replayApi({ kubeconfigJson }: TestCluster, file: string): Promise<Replay> {
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

/** Plays the kubelet scenarios that match and compares them with what a real kubelet did. */
export async function replayKubelet({ kubeconfigJson, stateDir }: TestCluster, only: string): Promise<Replay> {
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
    '12',
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
      const usable = !error || stdout.includes(' scenarios') || args[0]?.endsWith('record.mjs')
      if (usable) resolve(stdout.split('\n'))
      else reject(new Error(`${basename(args[0] ?? '')}: ${stderr || error.message}`))
    })
  })
}

/** Scenario names with the class of their reason (see test/golden/README.md). */
export type Later = Record<string, string>

export function readLater(): { api: Later; kubelet: Later } {
  return JSON.parse(readFileSync(join(folder, 'later.json'), 'utf8'))
}
