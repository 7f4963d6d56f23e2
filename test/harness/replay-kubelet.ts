import { randomBytes } from 'node:crypto'
import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { realClock } from '../../shared/clock/real-clock.ts'
import { archiveOf } from './archive-of.ts'
import { busyboxRoot } from './busybox-root.ts'
import { repository, startTestCluster, type TestCluster } from './cluster.ts'
import { type ImageParts, ociFiles } from './image-archives.ts'
import { startRegistry } from './registry.ts'
import { goldenFolder, type Later, type Replay, run } from './replay.ts'
import { scratchFolder } from './scratch.ts'
import { tooShort, withShortage } from './shortage.ts'

const tools = join(goldenFolder, 'kubelet')
const observed = join(tools, 'observed.json')

/** As `scenarios.mjs` has it. */
const registryPort = 17_490
const slowMs = 8_000
/** As the events of the recordings tell it. */
const imageBytes = 7_772_835

/**
 * Starts a cluster as it was when the recordings were made: without termination reasons, and with images from a
 * registry. Resolves to undefined without a busybox for them.
 */
export async function startRecordedCluster(t: Pick<Test, 'teardown'>): Promise<TestCluster | undefined> {
  // Beside the state, which containers do not see.
  const folder = scratchFolder(t, 'recorded')
  if (!(await startRecordedRegistry(t, folder))) return undefined
  const file = join(folder, 'images.json')
  writeFileSync(file, JSON.stringify(recordedImages(folder)))
  return startTestCluster(t, `--config=${file}`, '--feature-gates=PodTerminationReason=false', '--pull-images=all')
}

/**
 * Starts the registry of the recordings: `pull:1` is a small image, `slow:1` another one, whose parts take their time.
 * Resolves to false without a busybox for them.
 */
async function startRecordedRegistry(t: Pick<Test, 'teardown'>, folder: string): Promise<boolean> {
  const root = join(folder, 'registry-root')
  if (!busyboxRoot(root)) return false
  const registry = await startRegistry(t, registryPort)
  writeFileSync(join(root, 'filling'), randomBytes(6_000_000))
  const image = filled({ layers: [await archiveOf(root)], config: { Env: ['PATH=/bin'] } })
  for (const name of ['pull', 'slow', 'private-other']) registry.add(name, '1', image)
  registry.intercept = ({ url = '', headers }, response) => {
    const refusal = refusalOf(url, headers.authorization)
    if (refusal) {
      response.writeHead(refusal.status, refusal.challenge ? { 'www-authenticate': refusal.challenge } : {}).end()
      return true
    }
    if (!url.startsWith('/v2/slow/blobs/')) return undefined
    realClock.setTimer(slowMs, () => response.end(registry.blob(url.split('/').at(-1) ?? '')))
    return true
  }
  return true
}

/** The passwords of the recordings: `private*` asks for one itself, `token*` by a server of tokens that gives none. */
function refusalOf(url: string, authorization = ''): { status: number; challenge?: string } | undefined {
  const [, repository = ''] = /^\/v2\/([\w-]+)\//.exec(url) ?? []
  const isAnna = authorization === `Basic ${Buffer.from('anna:sesame').toString('base64')}`
  if (repository === 'denied') return { status: 403 }
  if (repository.startsWith('private') && !isAnna) return { status: 401, challenge: 'Basic realm="registry"' }
  if (url.startsWith('/token')) return { status: 401 }
  if (!repository.startsWith('token')) return undefined
  const realm = `http://127.0.0.1:${registryPort}/token`
  return {
    status: 401,
    challenge: `Bearer realm="${realm}",service="registry",scope="repository:${repository}:pull"`,
  }
}

/** Makes an image with its manifest exactly as large as the recorded one: by a label of its configuration. */
function filled({ layers, config }: ImageParts): ImageParts {
  const filledWith = (length: number): ImageParts => ({
    layers,
    config: { ...config, Labels: { text: 'x'.repeat(length) } },
  })
  const missingWith = (length: number): number => {
    const blobs = [...ociFiles(filledWith(length))].filter(([name]) => name.startsWith('blobs/'))
    return imageBytes - blobs.reduce((sum, [, content]) => sum + content.length, 0)
  }
  const nearly = missingWith(0)
  // The manifest tells the size of the configuration, in more digits by now.
  return filledWith(nearly + missingWith(nearly))
}

/** What the images of the recordings stand for here, as settings of a cluster. */
function recordedImages(parent: string) {
  const folder = toolFolder(parent)
  return {
    imagePath: { 'busybox:*': folder },
    image: { 'stopsig:*': [join(folder, 'tool'), 'usr1'], 'envimg:*': ['sh', '-c', 'echo cmd'] },
    imageStopSignal: { 'stopsig:*': 'SIGUSR1' },
  }
}

/** A folder for `--image-path busybox:*=…`: the recordings' helper program, and what of busybox is told apart from the host's own. */
function toolFolder(parent: string): string {
  const folder = mkdtempSync(join(parent, 'tools-'))
  const programs = {
    tool: `exec '${process.execPath}' '${join(repository, 'test', 'harness', 'tool.mjs')}' "$@"`,
    cat: `for file; do /bin/cat "$file" 2>/dev/null || { echo "cat: can't open '$file': No such file or directory" >&2; code=1; }; done
[ $# -gt 0 ] || exec /bin/cat
exit $code`,
  }
  for (const [name, script] of Object.entries(programs)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`)
    chmodSync(join(folder, name), 0o755)
  }
  return folder
}

interface Scenario {
  name: string
  /** How long the real one took. */
  endMs: number
}
const scenarios = (): Scenario[] => JSON.parse(readFileSync(observed, 'utf8'))

const quickMs = 10_000
/** Scenarios whose image is there once they were played. */
const pulls = /^image-others-password$/
/** They are played together, or need a kubelet that is killed, or a folder of manifests: all of that takes its time. */
const slowGroups = /^(krestart|static|taint|preempt)/

/** What a test run has the time for: all that was over soon, without those that are not expected to agree. */
export const quickScenarios = (later: Later): string[] =>
  scenarios()
    .filter(({ name, endMs }) => endMs <= quickMs && !slowGroups.test(name) && !later[name])
    .map(({ name }) => name)
export const allScenarios = (): string[] => scenarios().map(({ name }) => name)

type KubeletTarget = Pick<TestCluster, 'kubeconfigJson' | 'stateDir'>

/** How many are played side by side, and how many of those that are played again. */
const sideBySide = { first: 14, again: 4 }
/** States that are shorter than 0.7 s in the recording need not be seen; one that is stretched by this much may be, and differs then. */
const stallMs = 200

/**
 * Plays recorded scenarios and compares them with what a real kubelet did. Where too little of the machine was to be had meanwhile, what
 * differs is played once more, which `say` is told of: times can be compared only while there is time.
 */
export async function replayKubelet(
  target: KubeletTarget,
  names: readonly string[],
  say: (text: string) => void,
): Promise<Replay> {
  const first = () => playOnce(target, names, sideBySide.first)
  const { result: differences, shortage } = await withShortage(target.stateDir, first)
  const again = names.filter((name) => differences.get(name)?.length && !slowGroups.test(name) && !pulls.test(name))
  const why = tooShort(shortage, stallMs)
  if (again.length === 0 || !why) return { differences }
  say(`${why}: once more ${again.join(', ')}`)
  for (const [name, found] of await playOnce(target, again, sideBySide.again)) differences.set(name, found)
  return { differences }
}

async function playOnce(
  target: KubeletTarget,
  names: readonly string[],
  sideBySide: number,
): Promise<Map<string, string[]>> {
  const isGroup = (name: string) => slowGroups.test(name)
  const single = await play(
    target,
    names.filter((name) => !isGroup(name)),
    sideBySide,
  )
  return new Map([...single, ...(await play(target, names.filter(isGroup), sideBySide))])
}

let runs = 0

async function play(
  { kubeconfigJson, stateDir }: KubeletTarget,
  names: string[],
  parallel: number,
): Promise<Map<string, string[]>> {
  const differences = new Map<string, string[]>()
  if (names.length === 0) return differences
  const out = join(stateDir, `run-${runs++}.json`)
  const only = `^(${names.map((name) => name.replaceAll('.', '\\.')).join('|')})$`
  const host = join(import.meta.dirname, 'kubelet-host.mjs')
  await run(
    [
      join(tools, 'record.mjs'),
      ...['--kubeconfig', kubeconfigJson, '--out', out, '--only', only],
      ...['--parallel', String(parallel), '--host', host],
    ],
    { KUBESTAGE_STATE_DIR: stateDir },
  )
  const output = await run([join(tools, 'compare.mjs'), observed, '--run', out, '--only', only])
  for (const { name } of JSON.parse(readFileSync(out, 'utf8')) as Scenario[]) differences.set(name, [])
  let current: string[] = []
  for (const line of output) {
    const name = /^✗ (\S+)/.exec(line)?.[1]
    if (name) {
      current = []
      differences.set(name, current)
    } else if (line.startsWith('    ')) current.push(line.trim())
  }
  return differences
}
