/**
 * How long hooks take, as the kubelet runs them, beside a bare spawn and a bare request of the same process: medians,
 * in milliseconds.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createActions } from '../kubelet/actions/actions.ts'
import type { ContainerRuntime, RuntimeCapabilities } from '../kubelet/runtime/container-runtime.ts'
import { createImages } from '../kubelet/runtime/images/images.ts'
import { createProcessRuntime, possibleIsolation, startShim } from '../kubelet/runtime/process/index.ts'
import { realClock } from '../shared/clock/real-clock.ts'
import { median } from './load.ts'

export interface HookFigures {
  execMs: number
  /** Where the machine allows it: in a container's own namespaces. */
  isolatedExecMs?: number
  spawnMs: number
  httpMs: number
  requestMs: number
}

const http = process.getBuiltinModule('node:http')
const TIMES = 200
const COMMAND = ['/bin/true']

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = realClock.monotonic()
  await work()
  return realClock.monotonic() - startedMs
}

async function bareSpawn(): Promise<void> {
  const [program = '', ...args] = COMMAND
  await once(spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] }), 'close')
}

const bareRequest = (port: number): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const request = http.get({ host: '127.0.0.1', port, agent: false }, (answer) => answer.resume().on('end', resolve))
    request.on('error', reject)
  })

/** A container that only waits, on a node of its own. */
async function startNode(capabilities: RuntimeCapabilities) {
  const rootDir = mkdtempSync(join(tmpdir(), 'kubestage-bench-'))
  const { command, args } = startShim({ rootDir })
  const shim = spawn(command, args, { stdio: ['pipe', 'ignore', 'inherit'] })
  const runtime: ContainerRuntime = await createProcessRuntime({
    rootDir,
    clock: realClock,
    images: createImages({ commands: {}, paths: {} }),
    nodeIP: '127.0.0.1',
    supervised: true,
    capabilities,
    warn: () => {},
  })
  const pod = { podUid: 'bench', namespace: 'bench', name: 'bench', hostname: 'bench', hostNetwork: false }
  const sandbox = await runtime.startSandbox({ ...pod, shareProcessNamespace: false, annotations: {} })
  const { id } = await runtime.startContainer({
    sandboxId: sandbox.id,
    name: 'main',
    attempt: 0,
    image: 'bench',
    imageId: 'bench',
    command: ['sleep', '1000'],
    env: {},
    path: [],
    logPath: join(rootDir, 'log'),
    stdin: false,
    tty: false,
    annotations: {},
  })
  return {
    runtime,
    containerId: id,
    async stop() {
      await runtime.close()
      shim.stdin?.end()
      await once(shim, 'exit')
      rmSync(rootDir, { recursive: true, force: true })
    },
  }
}

async function measure(): Promise<HookFigures> {
  const possible = await possibleIsolation({ rootDir: mkdtempSync(join(tmpdir(), 'kubestage-bench-')) })
  const nodes = [await startNode({ isolation: 'none', files: 'host' })]
  if (possible.isolation === 'pod') nodes.push(await startNode(possible))
  const server = http.createServer((_, answer) => answer.end('ok')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const actions = createActions(realClock)
  const hook = (node: (typeof nodes)[number] | undefined, action: Parameters<typeof actions.run>[0]) =>
    actions.run(
      action,
      { runtime: node!.runtime, containerId: node!.containerId, podIP: '127.0.0.1', ports: [] },
      { userAgent: 'kube-lifecycle/1.36', purpose: 'hook' },
    )
  const kinds: Record<string, () => Promise<unknown>> = {
    execMs: () => hook(nodes[0], { exec: { command: COMMAND } }),
    ...(nodes[1] && { isolatedExecMs: () => hook(nodes[1], { exec: { command: COMMAND } }) }),
    spawnMs: bareSpawn,
    httpMs: () => hook(nodes[0], { httpGet: { port, path: '/' } }),
    requestMs: () => bareRequest(port),
  }
  const times = Object.fromEntries(Object.keys(kinds).map((kind) => [kind, [] as number[]]))
  for (let i = 0; i < TIMES; i++) for (const [kind, work] of Object.entries(kinds)) times[kind]?.push(await timed(work))
  server.close()
  for (const node of nodes) await node.stop()
  return Object.fromEntries(Object.entries(times).map(([kind, all]) => [kind, median(all)])) as unknown as HookFigures
}

process.send?.(await measure())
