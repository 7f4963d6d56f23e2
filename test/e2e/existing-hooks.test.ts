/** Hooks written before there was a termination reason do the same whether one is delivered or not, at any time scale. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { load } from 'js-yaml'
import t from 'tap'
import type { TerminatedContainer, Termination } from '../../shared/api/termination.ts'
import type { EnvVar, Pod } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { pods, terminations } from '../../shared/client/resources.ts'
import { startTestCluster } from '../harness/cluster.ts'
import { isReady } from '../harness/pods.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'

interface Hook {
  command?: string[]
  sh?: string
  bash?: string
  /** A program that a machine may lack. */
  needs?: string
}
interface Corpus {
  env: Record<string, string>
  hooks: Record<string, Hook>
}
/** What a hook did: the bytes that it printed, and how it ended. */
interface Behaviour {
  output: string
  exitCode: number
}
type Behaviours = Record<string, Behaviour>

const namespace = 'default'
const corpus = load(readFileSync(join(import.meta.dirname, 'existing-hooks.yaml'), 'utf8')) as Corpus
const env = { ...corpus.env, SERVER: await startServer() }
const commands = new Map(Object.entries(corpus.hooks).map(([name, hook]) => [name, commandOf(hook)]))

async function startServer(): Promise<string> {
  const server = createServer(async (request, response) => {
    response.statusCode = request.url === '/missing' ? 404 : 200
    response.end(`${request.method} ${request.url} ${request.headers['x-host']} ${await text(request)}`)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function commandOf({ command, sh, bash }: Hook): string[] {
  return command ?? (sh === undefined ? ['bash', '-c', bash ?? ''] : ['sh', '-c', sh])
}

const run = (words: string[], variables: Record<string, string | undefined>): Promise<Behaviour> =>
  new Promise((resolve) => {
    const [program = '', ...args] = words
    // Both streams are one, as a hook's are.
    const child = execFile('sh', ['-c', 'exec "$0" "$@" 2>&1', program, ...args], { env: variables }, (_, output) =>
      resolve({ output, exitCode: child.exitCode ?? -1 }),
    )
  })

/** The pod runs one container for each hook, all of which do nothing else. */
function podOfHooks(name: string): Pod {
  const variables: EnvVar[] = Object.entries(env).map(([name, value]) => ({
    name,
    value: value.replaceAll('$', '$$$$'),
  }))
  const containers = [...commands].map(([name, command]) => ({
    name,
    image: 'busybox:1.37',
    command: ['sh', '-c', 'trap "exit 0" TERM; sleep 1000 & wait'],
    env: variables,
    lifecycle: { preStop: { exec: { command } } },
  }))
  return { metadata: { name }, spec: { containers, terminationGracePeriodSeconds: 1200 } }
}

async function behavioursIn(client: Client, name: string, reason?: string): Promise<Behaviours> {
  await client.create(pods, podOfHooks(name), { namespace })
  const ready = async () => isReady(await client.get<Pod>(pods, { namespace, name }))
  await until(ready, { what: `pod ${name} to be ready`, timeoutMs: 60_000 })
  await client.delete(pods, { namespace, name }, { reason })
  const record = async () =>
    (await client.list<Termination>(terminations, { namespace, fieldSelector: `podName=${name}` })).items[0]
  const { containers = [], ...termination } = await until(record, { what: `the record of ${name}`, timeoutMs: 60_000 })
  t.equal(termination.reason, reason)
  return Object.fromEntries(containers.map((container) => [container.name, behaviourOf(container)]))
}

function behaviourOf({ steps }: TerminatedContainer): Behaviour {
  const { output = '', exitCode = -1 } = steps.find((step) => step.name === 'PreStop') ?? {}
  return { output, exitCode }
}

t.test('existing hooks', async (t) => {
  t.ok(commands.size >= 50, `${commands.size} hooks`)
  for (const [name, { needs }] of Object.entries(corpus.hooks)) {
    if (!needs || (await run(['sh', '-c', `command -v ${needs}`], process.env)).exitCode === 0) continue
    skipOrFail(t, `${name}: no ${needs} on this machine`)
    commands.delete(name)
  }
  const clusters = [1, 20].map((scale) => [scale, startTestCluster(t, `--time-scale=${scale}`)] as const)
  const alone: Behaviours = {}
  for (const [name, words] of commands) alone[name] = await run(words, { ...process.env, ...env })
  for (const [scale, starting] of clusters) {
    const { client } = await starting
    for (const reason of [undefined, 'resolve issue 354961']) {
      const inPod = await behavioursIn(client, reason ? 'with-reason' : 'without-reason', reason)
      const where = `${reason ? 'with' : 'without'} a reason, time scale ${scale}`
      for (const name of commands.keys()) t.same(inPod[name], alone[name], `${name} ${where}`)
      t.same(inPod, alone, 'every hook does the same with a reason and without')
    }
  }
})
