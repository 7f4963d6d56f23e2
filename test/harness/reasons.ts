import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Pod, PreStopHandler } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { pods } from '../../shared/client/resources.ts'
import { repository } from './cluster.ts'
import type { Answer, Kubectl } from './kubectl.ts'
import { followPod, isReady, podOf, politeScript, untilHandled } from './pods.ts'

const shims = join(repository, 'bin', 'kubestage-kubectl')

export type Shell = (args: string[], options?: { input?: string; file?: string }) => Promise<Answer>

/** A shell in which only this kubectl, and our shim before it, are to be found. What it needs is made in `folder`. */
export function shimShell(
  { file, version }: Kubectl,
  { kubeconfig, folder }: { kubeconfig: string; folder: string },
): Shell {
  const bin = join(folder, version)
  if (!existsSync(bin)) {
    mkdirSync(bin)
    symlinkSync(file, join(bin, 'kubectl'))
  }
  const env = {
    PATH: `${shims}:${bin}:/usr/bin:/bin`,
    KUBECONFIG: kubeconfig,
    HOME: dirname(kubeconfig),
  }
  return (args, { input, file = join(shims, 'kubectl') } = {}) =>
    new Promise((resolve) => {
      const child = execFile(file, args, { env, timeout: 120_000 }, (error, stdout, stderr) => {
        resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr })
      })
      child.stdin?.end(input)
    })
}

export interface WitnessOptions {
  client: Client
  /** Of the machine; a file in it for each pod. */
  folder: string
  labels?: Record<string, string>
  spec?: Partial<Pod['spec']>
}

/** Starts a pod whose hook writes down what it was told, by variable and by flag; resolves, when it is ready, to a reader of that. */
export async function startWitness(name: string, options: WitnessOptions): Promise<() => string> {
  const command = [
    'sh',
    '-c',
    'echo "$KUBE_POD_TERM_REASON" >> $OUT; echo "$0" | tee -a $OUT',
    '--reason=$(KUBE_POD_TERM_REASON)',
  ]
  return start(name, options, { command: ['sh', '-c', politeScript], preStop: { exec: { command } } })
}

const server = `
const { writeFileSync } = require('node:fs')
process.on('SIGTERM', () => process.exit())
require('node:http').createServer((request, response) => {
  if (request.url === '/stop') {
    const told = request.rawHeaders.flatMap((name, index, all) => index % 2 === 0 && /reason/i.test(name) ? [name + ': ' + all[index + 1]] : [])
    writeFileSync(process.env.OUT, Buffer.from(told.join('\\n'), 'latin1'))
  }
  response.end()
}).listen(8080, process.env.POD_IP)
`

/** The same for a request: the header, byte by byte as it came. */
export async function startHttpWitness(name: string, options: WitnessOptions): Promise<() => string> {
  return start(name, options, {
    command: ['node', '-e', server],
    image: 'node:26',
    preStop: { httpGet: { path: '/stop', port: 8080 } },
    readinessProbe: { httpGet: { path: '/', port: 8080 }, periodSeconds: 1 },
  })
}

async function start(
  name: string,
  { client, folder, labels, spec }: WitnessOptions,
  program: { command: string[]; image?: string; preStop: PreStopHandler; readinessProbe?: object },
): Promise<() => string> {
  const namespace = 'default'
  const out = join(folder, name)
  const env = [
    { name: 'OUT', value: out },
    { name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
  ]
  const pod = podOf({ name, ...program, env, hostFolder: folder, spec })
  pod.metadata.labels = labels
  await client.create(pods, pod, { namespace })
  const followed = await followPod(client, { namespace, name })
  await untilHandled(await followed.until(isReady, 'to be ready'))
  return () => (existsSync(out) ? readFileSync(out, 'utf8') : '')
}
