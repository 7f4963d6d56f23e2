import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Node, Pod } from '../../shared/api/types.ts'
import { nodes, pods } from '../../shared/client/resources.ts'
import { type CommandRun, programOf, startCommand, startProgram, startTestCluster } from '../harness/cluster.ts'
import { byeScript, deafScript, followPod, podOf, politeScript, untilHandled } from '../harness/pods.ts'
import { processesWith } from '../harness/processes.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'

const namespace = 'default'
t.jobs = 3 // each has a cluster of its own, and waits most of the time

/** Ends with this exit code after one line. */
async function refusal(
  t: Test,
  args: string[],
  { code = 1, cwd }: { code?: number; cwd?: string } = {},
): Promise<string> {
  const command = startCommand(t, args, { cwd })
  t.equal(await command.ended, code, args.join(' '))
  const output = command.output()
  t.match(output, /^kubestage: [^\n]+\n$/, 'one sentence')
  return output
}

t.test('what it prints, and that it is true', async (t) => {
  const cluster = await startTestCluster(t)
  const printed = cluster.process.output()
  t.match(printed, cluster.access.server)
  t.match(printed, `export KUBECONFIG=${cluster.kubeconfig}`)
  const node = await cluster.client.get<Node>(nodes, { name: 'node-1' })
  t.match(
    node.status?.conditions?.find(({ type }) => type === 'Ready'),
    { status: 'True', reason: 'KubeletReady' },
  )
  t.equal(node.status?.nodeInfo?.kubeletVersion, 'v1.36.3')

  const env = startCommand(t, ['env', `--state-dir=${cluster.stateDir}`])
  t.equal(await env.ended, 0)
  const [kubeconfig, path] = env.output().split('\n')
  t.equal(kubeconfig, `export KUBECONFIG=${cluster.kubeconfig}`)
  t.match(path, /^export PATH=.*\/kubestage-kubectl'?:"\$PATH"$/)
})

t.test('a second start beside the first', async (t) => {
  const { stateDir, process: first } = await startTestCluster(t, '--kubelet=false')
  const message = await refusal(t, ['up', '--port=0', `--state-dir=${stateDir}`])
  t.match(message, `already running with state folder ${stateDir} (process ${first.child.pid})`)
})

t.test('a lock left behind by a process that is gone is taken over', async (t) => {
  const stateDir = t.testdir({ lock: JSON.stringify({ pid: process.pid, startTime: '1' }) })
  const command = startCommand(t, ['up', '--port=0', '--kubelet=false', `--state-dir=${stateDir}`])
  await command.printed('is ready')
  command.child.kill('SIGINT')
  t.equal(await command.ended, 0)
  t.notOk(existsSync(join(stateDir, 'lock')), 'and given back at the end')
})

t.test('what cannot be is told in one sentence', async (t) => {
  const occupied = createServer().listen(0, '127.0.0.1')
  await once(occupied, 'listening')
  const { port } = occupied.address() as AddressInfo
  t.match(
    await refusal(t, ['up', `--port=${port}`, `--state-dir=${t.testdir()}`]),
    `port ${port} on 127.0.0.1 is in use`,
  )
  occupied.close()

  const folder = t.testdir({ file: '', 'kubestage.yaml': 'port: 0\nkubelett: false\n' })
  t.match(
    await refusal(t, ['up', '--state-dir=/proc/state']),
    /cannot write to state folder \/proc\/state: .*; choose another folder with --state-dir/,
  )
  t.match(
    await refusal(t, ['up', `--state-dir=${folder}/file/state`]),
    /cannot write to state folder .*; choose another folder with --state-dir/,
  )
  t.match(await refusal(t, ['up', '--prot=1'], { code: 2 }), 'unknown flag --prot; did you mean --port?')
  t.match(await refusal(t, ['upp'], { code: 2 }), 'unknown command upp; did you mean up?')
  t.match(
    await refusal(t, ['up', '--host=192.0.2.1', `--state-dir=${t.testdir()}`]),
    'this machine has no address 192.0.2.1',
  )
  const here = t.testdir({ 'kubestage.yaml': 'port: 0\nkubelett: false\n' })
  t.match(
    await refusal(t, ['up'], { code: 2, cwd: here }),
    'kubestage.yaml:2: unknown key "kubelett"; did you mean "kubelet"?',
  )
  t.match(await refusal(t, ['env', `--state-dir=${t.testdir()}`]), 'start one with kubestage up')
})

t.test('Ctrl-C ends pods in order', async (t) => {
  const cluster = await startTestCluster(t)
  const out = join(cluster.stateDir, 'said')
  const pod = podOf({ name: 'p', command: ['sh', '-c', byeScript(out)], hostFolder: cluster.stateDir })
  await cluster.client.create(pods, pod, { namespace })
  await running(cluster.client, 'p')
  cluster.process.child.kill('SIGINT')
  t.equal(await cluster.process.ended, 0)
  t.equal(readFileSync(out, 'utf8'), 'bye\n')
  t.same(processesWith(cluster.stateDir), [])
})

t.test('a second Ctrl-C ends everything at once', async (t) => {
  const cluster = await startTestCluster(t)
  await cluster.client.create(pods, podOf({ name: 'p', command: ['sh', '-c', deafScript] }), { namespace })
  await running(cluster.client, 'p')
  const { child, printed, ended } = cluster.process
  child.kill('SIGINT')
  await printed('Ctrl-C again')
  const again = setInterval(() => child.kill('SIGINT'), 200)
  t.equal(await ended, 130)
  clearInterval(again)
  await until(() => processesWith(cluster.stateDir).length === 0, { what: 'all processes to end' })
})

t.test('kill -9 leaves no process behind', async (t) => {
  const cluster = await startTestCluster(t)
  // One that ignores TERM, and one that runs away from its process group.
  const runaway = `setsid sh -c '${deafScript}' & ${deafScript}`
  for (const [name, script] of Object.entries({ deaf: deafScript, runaway })) {
    await cluster.client.create(
      pods,
      podOf({ name, command: ['sh', '-c', script], env: [{ name: 'MARK', value: cluster.stateDir }] }),
      { namespace },
    )
    await running(cluster.client, name)
  }
  t.ok(processesWith(cluster.stateDir).length >= 5)
  cluster.process.child.kill('SIGKILL')
  await until(() => processesWith(cluster.stateDir).length === 0, { what: 'all processes to end' })
  t.pass('nothing is left')
})

interface RunningFile {
  kubeletPid?: number
  kubeletPids: (number | undefined)[]
}
const runningFile = ({ stateDir }: { stateDir: string }): RunningFile =>
  JSON.parse(readFileSync(join(stateDir, 'running.json'), 'utf8'))

t.test('kill -9 of the kubelet: it is started again, and finds its pods', async (t) => {
  const cluster = await startTestCluster(t)
  const { client } = cluster
  const slowHook = { exec: { command: ['sh', '-c', 'sleep 2'] } }
  await client.create(
    pods,
    podOf({ name: 'lives', command: ['sh', '-c', `: lives-${process.pid}; ${politeScript}`] }),
    { namespace },
  )
  await client.create(pods, podOf({ name: 'ends', command: ['sh', '-c', politeScript], preStop: slowHook }), {
    namespace,
  })
  const before = await running(client, 'lives')
  await running(client, 'ends')
  const shell = mainProcess(`lives-${process.pid}`)

  const ending = await followPod(client, { namespace, name: 'ends' })
  await client.delete(pods, { namespace, name: 'ends' }, { gracePeriodSeconds: 10 })
  const [kubelet] = processesWith(programOf('kubelet')).filter((candidate) =>
    isChildOf(candidate, cluster.process.child.pid),
  )
  t.same(runningFile(cluster).kubeletPids, [kubelet])
  process.kill(kubelet!, 'SIGKILL')
  await cluster.process.printed('the kubelet ended (SIGKILL) and starts again')
  await until(() => !runningFile(cluster).kubeletPids.includes(kubelet), { what: 'running.json to forget the kubelet' })
  const next = await until(() => runningFile(cluster).kubeletPid, { what: 'running.json to name the next kubelet' })
  t.ok(isChildOf(next, cluster.process.child.pid), 'which is the one that runs')
  t.same(runningFile(cluster).kubeletPids, [next])

  const events = await ending.untilDeleted()
  const terminated = events.findLast(({ type }) => type === 'MODIFIED')?.object.status?.containerStatuses?.[0]?.state
    ?.terminated
  t.equal(terminated?.exitCode, 0, 'the termination began again and had its full grace')
  const after = await client.get<Pod>(pods, { namespace, name: 'lives' })
  t.equal(after.status?.phase, 'Running')
  t.same(container(after), container(before), 'same container, same restart count')
  t.equal(mainProcess(`lives-${process.pid}`), shell, 'same process')
  t.ok(shell)
})

t.test('kill -9 of the shim: it is started again, and so are its containers', async (t) => {
  const cluster = await startTestCluster(t)
  const { client } = cluster
  const script = `: shimless-${process.pid}; ${politeScript}`
  await client.create(pods, podOf({ name: 'p', command: ['sh', '-c', script] }), { namespace })
  await running(client, 'p')
  const before = processesWith(`shimless-${process.pid}`)
  const [shim] = processesWith(join('shim', 'shim.pl')).filter((candidate) =>
    isChildOf(candidate, cluster.process.child.pid),
  )
  process.kill(shim!, 'SIGKILL')
  await cluster.process.printed('the shim ended (SIGKILL), and all containers with it')
  const pod = await followPod(client, { namespace, name: 'p' })
  const after = await pod.until(({ status }) => {
    const [first] = status?.containerStatuses ?? []
    return first?.restartCount === 1 && first.state?.running !== undefined
  }, 'to be started again')
  t.match(after.status?.containerStatuses?.[0]?.lastState?.terminated, { exitCode: 255, reason: 'Unknown' })
  const processes = processesWith(`shimless-${process.pid}`)
  t.ok(processes.length > 0)
  t.notOk(
    processes.some((one) => before.includes(one)),
    'nothing of the first is left',
  )
})

t.test('under an old Node it finds the right one, and dies with it', async (t) => {
  const old = oldNode()
  if (!old) return skipOrFail(t, 'no old Node on this machine')
  const stateDir = t.testdir()
  const command = startCommand(t, ['up', '--port=0', `--state-dir=${stateDir}`], { node: old })
  await command.printed('is ready')
  command.child.kill('SIGKILL')
  await until(() => processesWith(stateDir).length === 0, { what: 'all processes to end' })

  const again = startCommand(t, ['up', '--port=0', `--state-dir=${stateDir}`], { node: old })
  await again.printed('is ready')
  again.child.kill('SIGTERM')
  t.equal(await again.ended, 0)
})

t.test('what npx runs ends when npx is told to end', async (t) => {
  const npx = programOn('npx')
  if (!npx) return skipOrFail(t, 'no npx on this machine')
  const folder = scratchFolder(t, 'npx')
  const file = (name: string): string => join(folder, name)
  const start = (...args: string[]): CommandRun =>
    startProgram(t, ['-u', 'KUBESTAGE_LAUNCHER_FD', npx, 'kubestage', ...args], { node: '/usr/bin/env' })
  const server = start('apiserver', '--port=0', `--cert-dir=${file('pki')}`, `--kubeconfig=${file('kubeconfig')}`)
  await server.printed('"ready"')
  const place = `--kubeconfig=${file('kubeconfig')}`
  const others = {
    controllers: start('controllers', place, `--cert-dir=${file('pki')}`),
    kubelet: start('kubelet', place, '--port=0', `--root-dir=${file('kubelet')}`, '--node-name=npx-node'),
    up: start('up', '--port=0', '--nodes=0', `--state-dir=${file('up')}`, `--storage=sqlite:${file('up.db')}`),
  }
  await others.up.printed('is ready')
  await others.controllers.printed('"ready"')
  await until(() => processesWith(file('kubelet')).length > 0, { what: 'the kubelet' })
  for (const [name, command] of [...Object.entries(others), ['apiserver', server] as const]) {
    command.child.kill('SIGTERM')
    await command.ended
    const own = name === 'apiserver' ? folder : name === 'controllers' ? `controllers\0${place}` : file(name)
    await until(() => processesWith(own).length === 0, { what: `the end of ${name}` })
    t.pass(`${name} has ended`)
  }
})

t.test('the demo', async (t) => {
  const demo = startCommand(t, ['demo'])
  t.equal(await demo.ended, 0)
  t.match(demo.output(), /worker +KUBE_POD_TERM_REASON=Update/)
  t.match(demo.output(), /server +preStop: KUBE-POD-TERM-REASON: Update/)
})

async function running(client: Parameters<typeof followPod>[0], name: string): Promise<Pod> {
  const pod = await followPod(client, { namespace, name })
  const started = await pod.until(({ status }) => status?.phase === 'Running', 'to run')
  await untilHandled(started)
  return started
}

function container({ status }: Pod): object {
  const [first] = status?.containerStatuses ?? []
  return { id: first?.containerID, restarts: first?.restartCount }
}

/** The shell, and nothing that it has just forked. */
function mainProcess(text: string): number | undefined {
  const found = processesWith(text)
  return found.find((pid) => {
    const parent = parentOf(pid)
    return parent !== undefined && !found.includes(parent)
  })
}

function isChildOf(pid: number, parent: number | undefined): boolean {
  return parentOf(pid) === parent
}

/** Undefined of one that is gone meanwhile. */
function parentOf(pid: number): number | undefined {
  try {
    return Number(/^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
  } catch {
    return undefined
  }
}

/** One on this machine that cannot run the sources itself. */
function oldNode(): string | undefined {
  const candidates = (process.env.PATH ?? '')
    .split(':')
    .map((folder) => join(folder, 'node'))
    .filter(existsSync)
  return candidates.find((file) => {
    const major = Number(/^v(\d+)/.exec(execFileSync(file, ['--version'], { encoding: 'utf8' }))?.[1])
    return major < 26 && major >= 20
  })
}

function programOn(name: string): string | undefined {
  const files = (process.env.PATH ?? '').split(':').map((folder) => join(folder, name))
  return files.find((file) => existsSync(file))
}
