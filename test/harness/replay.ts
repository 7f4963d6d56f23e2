import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { repository, type TestCluster } from './cluster.ts'

export const goldenFolder = join(repository, 'test', 'golden')

export interface Replay {
  /** Each scenario of the file, with what differs; none where all answers are equal. */
  differences: Map<string, string[]>
}

/** Sends the recorded requests of one file of test/golden/api and holds the answers against a real server's. */
export async function replayApi(
  { kubeconfigJson }: Pick<TestCluster, 'kubeconfigJson'>,
  file: string,
): Promise<Replay> {
  const recording = join(goldenFolder, 'api', file)
  const output = await run([
    join(goldenFolder, 'golden.mjs'),
    'replay',
    '--json',
    '--kubeconfig',
    kubeconfigJson,
    recording,
  ])
  const scenarios = JSON.parse(readFileSync(recording, 'utf8')) as { name: string }[]
  const failed = new Map(
    output
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as { scenario: string; differences: { step: string; found: string[] }[] })
      .map(({ scenario, differences }) => [scenario, differences.flatMap(({ step, found }) => [step, ...found])]),
  )
  return { differences: new Map(scenarios.map(({ name }) => [name, failed.get(name) ?? []])) }
}

/** The tools exit with 1 when something differs: their output says what, so only the output counts. */
export function run(args: string[], env: NodeJS.ProcessEnv = {}): Promise<string[]> {
  const options = { maxBuffer: 1 << 28, env: { ...process.env, ...env } }
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, options, (error, stdout, stderr) => {
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

export const laterFile = join(goldenFolder, 'later.json')
export const recordings = readdirSync(join(goldenFolder, 'api')).sort()

export function readLater(): LaterFile {
  return JSON.parse(readFileSync(laterFile, 'utf8'))
}
