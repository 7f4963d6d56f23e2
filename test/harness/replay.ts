import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { repository, type TestCluster } from './cluster.ts'
import { serversOfRun } from './stores-of-run.ts'

export const goldenFolder = join(repository, 'test', 'golden')

export interface Replay {
  /** Each scenario of the file, with what differs; none where all answers are equal. */
  differences: Map<string, string[]>
}

/**
 * Sends the recorded requests of one file of test/golden/api and holds the answers against a real server's.
 * Managed fields are ordered by whole seconds: where only they differ, a second may have passed between two writes, and the scenario is
 * played once more.
 */
export async function replayApi(target: Target, file: string, { http2 = false } = {}): Promise<Replay> {
  const recording = join(goldenFolder, 'api', file)
  const scenarios = JSON.parse(readFileSync(recording, 'utf8')) as { name: string }[]
  const protocol = http2 ? ['--http2'] : []
  const failures = await play(target, recording, ...protocol)
  const doubtful = failures.filter(({ differences }) =>
    differences.every(({ found }) => found.every(isOfManagedFields)),
  )
  const names = doubtful.map(({ scenario }) => scenario.replace(/[^\w ]/g, '\\$&'))
  const again = names.length > 0 ? await play(target, recording, ...protocol, '--only', `^(${names.join('|')})$`) : []
  const failed = new Map(
    [...failures.filter((failure) => !doubtful.includes(failure)), ...again].map(({ scenario, differences }) => [
      scenario,
      differences.flatMap(({ step, found }) => [step, ...found]),
    ]),
  )
  return { differences: new Map(scenarios.map(({ name }) => [name, failed.get(name) ?? []])) }
}

const isOfManagedFields = (difference: string): boolean => /^[^:]*\.managedFields\.\d/.test(difference)

type Target = Pick<TestCluster, 'kubeconfigJson'>
interface Failure {
  scenario: string
  differences: { step: string; found: string[] }[]
}

async function play({ kubeconfigJson }: Target, recording: string, ...options: string[]): Promise<Failure[]> {
  const tool = join(goldenFolder, 'golden.mjs')
  const output = await run([tool, 'replay', '--json', ...options, '--kubeconfig', kubeconfigJson, recording])
  return output.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as Failure)
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
/** The issuer of several servers is the URL of their Service; the recordings have the server's own. */
export const differsBySeveral = serversOfRun() > 1 ? ['token: defaults', 'token: dry run'] : []
export const recordings = readdirSync(join(goldenFolder, 'api')).sort()

export function readLater(): LaterFile {
  return JSON.parse(readFileSync(laterFile, 'utf8'))
}
