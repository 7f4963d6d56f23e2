// docker-compose.yml for real: the image is built from a copy of this checkout, and the sandbox driven from the host.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t from 'tap'
import { cli } from '../harness/cluster.ts'
import { missingPackages } from '../harness/debian-root.ts'
import {
  type Docker,
  ensureHaImage,
  ensureNodeImage,
  haPackages,
  localCertificates,
  startDocker,
} from '../harness/docker.ts'
import { findKubectls, kubectl } from '../harness/kubectl.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'
import { killInTurn } from './compose/ha.ts'

const NODE_IMAGE = 'node:26-bookworm-slim'
/** Above the image that it is built on. */
const MAX_IMAGE_BYTES = 25_000_000
const root = join(import.meta.dirname, '../..')

t.setTimeout(900_000)

t.test('docker-compose: two parts, more nodes, an end in order, and what stays', { timeout: 900_000 }, async (t) => {
  const tool = findKubectls().at(-1)
  if (!tool) return skipOrFail(t, 'no kubectl on this machine')
  const docker = await startDocker(t)
  if ('missing' in docker) return skipOrFail(t, `${docker.missing} is not installed`)
  // If the kernel lets no daemon run, installing one does not help.
  if ('cannot' in docker) return t.pass(docker.cannot, { skip: docker.cannot })
  await ensureNodeImage(docker, t, NODE_IMAGE)

  const project = copyOfCheckout()
  const env = { KUBESTAGE_PORT: String(await freePort()) }
  const compose = composeIn(docker, project, env)
  t.teardown(async () => {
    await compose('down', '--volumes', '--remove-orphans')
    rmSync(project, { recursive: true, force: true })
  })
  const kubeconfig = join(project, '.kubestage/kubeconfig')
  const ask = async (...args: string[]) => (await kubectl(t, tool, kubeconfig, args)).stdout
  const readyNodes = async () =>
    (await ask('get', 'nodes', '--no-headers')).split('\n').filter((line) => / Ready /.test(line))
  const exitCodes = async () => {
    const ids = (await compose('ps', '--all', '--quiet')).split('\n').filter(Boolean)
    const codes = await docker.run('docker', [
      'inspect',
      '--format',
      '{{.Name}} {{.State.Status}} {{.State.ExitCode}}',
      ...ids,
    ])
    return codes.trim().split('\n')
  }

  await t.test('up: a kubeconfig for the host, a node that is Ready, a pod that learns why it ends', async (t) => {
    await compose('up', '--build', '--detach')
    await until(() => existsSync(kubeconfig), { what: 'the kubeconfig', timeoutMs: 60_000 })
    await until(async () => (await readyNodes()).length === 1, { what: 'the node', timeoutMs: 60_000 })
    await ask('apply', '-f', join(root, 'examples/graceful-delete/pod.yaml'))
    t.match(await ask('wait', '--for=condition=Ready', 'pod/web', '--timeout=30s'), 'condition met')
    await ask('delete', '--raw', '/api/v1/namespaces/default/pods/web?reason=Update')
    const record = await until(async () => (await ask('get', 'terminations', '--no-headers')) || undefined, {
      what: 'its record',
    })
    t.match(record, /web\S* +Update +kubernetes-admin/)
    t.match(await compose('logs', '--no-color', 'kubelet'), /"msg":"ready"/)
  })

  await t.test('stop: everything ends in order; up: the objects are there again', async (t) => {
    await ask('create', 'configmap', 'kept', '--from-literal=a=b')
    await compose('stop')
    for (const line of await exitCodes()) t.match(line, /exited 0$/)
    await compose('up', '--detach', '--scale', 'kubelet=3')
    await until(async () => (await readyNodes()).length === 3, { what: 'three nodes', timeoutMs: 60_000 })
    t.match(await ask('get', 'configmap', 'kept', '-o', 'jsonpath={.data.a}'), 'b')
  })

  await t.test('the command line finds the cluster, and its kubelets, by that kubeconfig', async (t) => {
    const tell = (...args: string[]) => docker.run(process.execPath, [cli, ...args], { cwd: project })
    t.match(await tell('status'), /^state +running\n.*nodes +3 of 3 ready\n$/s)
    t.match(await tell('image', 'add', 'mine:*', '--', 'sleep', '1000'), /^mine:\* is known \(\S+, \S+, \S+\)\n$/)
    t.match(await tell('image', 'which', 'mine:1'), 'mine:* (added)')
    t.match(await tell('clock'), /^20\S+Z\n$/)
    t.match(await tell('fault', 'add', 'user: nobody, then: {status: 503}'), 'fault 1 is on')
    await t.rejects(tell('logs'), { message: /docker-compose logs/ })
  })

  await t.test('pods spread over the nodes', async (t) => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f']
    for (const name of names) await ask('run', name, '--image=busybox', '--command', '--', 'sleep', '1000')
    t.match(
      await ask('wait', '--for=condition=Ready', '--timeout=60s', ...names.map((name) => `pod/${name}`)),
      'pod/f condition met',
    )
    const columns = 'custom-columns=node:.spec.nodeName'
    const nodes = new Set((await ask('get', 'pods', '--no-headers', '-o', columns)).trim().split('\n'))
    t.equal(nodes.size, 3)
  })

  await t.test('with rights on the machine: containers with namespaces of their own', async (t) => {
    const files = ['-f', 'docker-compose.yml', '-f', 'docker-compose.isolation.yml']
    await compose(...files, 'up', '--detach', '--scale', 'kubelet=1', 'kubelet')
    const selector = 'kubestage.dev/isolation=pod'
    await until(async () => / Ready /.test(await ask('get', 'nodes', '--no-headers', '-l', selector)), {
      what: 'its node',
      timeoutMs: 60_000,
    })
    const overrides = JSON.stringify({ spec: { nodeSelector: { 'kubestage.dev/isolation': 'pod' } } })
    await ask('run', 'isolated', '--image=busybox', `--overrides=${overrides}`, '--command', '--', 'sleep', '1000')
    await ask('wait', '--for=condition=Ready', 'pod/isolated', '--timeout=60s')
    t.match(await ask('exec', 'isolated', '--', 'cat', '/proc/1/cmdline'), 'sleep')
  })

  await t.test('the example: an application of its own, beside', async (t) => {
    const files = ['-f', 'docker-compose.yml', '-f', 'examples/compose-app/docker-compose.yml']
    await compose(...files, 'run', '--rm', 'app')
    t.match(await ask('get', 'terminations'), 'Rollout')
  })

  await t.test('the example: a test suite that starts a container by itself', async (t) => {
    if (!existsSync(join(root, 'test/toolchains/node_modules')))
      return skipOrFail(t, 'no Testcontainers: npm ci --ignore-scripts --prefix test/toolchains')
    const cwd = mkdtempSync(join(tmpdir(), 'kubestage-testcontainers-'))
    t.teardown(() => rmSync(cwd, { recursive: true, force: true }))
    cpSync(join(root, 'examples/testcontainers'), cwd, { recursive: true })
    mkdirSync(join(cwd, 'node_modules/@kubernetes'), { recursive: true })
    for (const [name, modules] of [
      ['testcontainers', 'test/toolchains/node_modules'],
      ['@kubernetes/client-node', 'node_modules'],
    ] as const)
      symlinkSync(join(root, modules, name), join(cwd, 'node_modules', name))
    // What clears up after a suite that was killed is an image of others, which is not needed here.
    await docker.run(process.execPath, ['--test'], { cwd, env: { TESTCONTAINERS_RYUK_DISABLED: 'true' } })
  })

  await t.test('the image is small', async (t) => {
    const bytes = async (image: string): Promise<number> =>
      Number(await docker.run('docker', ['image', 'inspect', '--format', '{{.Size}}', image]))
    t.ok((await bytes('kubestage')) - (await bytes(NODE_IMAGE)) < MAX_IMAGE_BYTES)
  })

  await t.test('faster time, the same in all containers; a node that is gone', async (t) => {
    const faster = composeIn(docker, project, { ...env, KUBESTAGE_TIME_SCALE: '60' })
    await faster('up', '--detach', '--scale', 'kubelet=2')
    const ids = (await faster('ps', '--quiet', 'kubelet')).split('\n').filter(Boolean)
    const names = ids.map((id) => id.slice(0, 12))
    const areReady = async (): Promise<boolean> => {
      const ready = await readyNodes()
      return names.every((name) => ready.some((line) => line.startsWith(name)))
    }
    await until(areReady, { what: 'both nodes', timeoutMs: 60_000 })
    const [victim = ''] = ids
    const [lost = ''] = names
    await docker.run('docker', ['kill', victim])
    const taints = async () => ask('get', 'node', lost, '-o', 'jsonpath={.spec.taints[*].key}')
    await until(async () => (await taints()).includes('node.kubernetes.io/unreachable'), { what: 'the loss' })
    t.match(await ask('get', 'node', lost, '--no-headers'), / NotReady /)
    await docker.run('docker', ['start', victim])
    await until(areReady, { what: 'its return', timeoutMs: 60_000 })
  })

  await t.test('one container alone: everything, and a line that says when', async (t) => {
    const id = (await docker.run('docker', ['run', '--detach', '--publish', '127.0.0.1::6443', 'kubestage'])).trim()
    t.teardown(() => docker.run('docker', ['rm', '--force', '--volumes', id]))
    await until(async () => (await docker.run('docker', ['logs', id])).includes('is ready'), {
      what: 'its line',
      timeoutMs: 60_000,
    })
    t.match(await docker.run('docker', ['exec', id, 'cat', '/var/lib/kubestage/kubeconfig']), 'current-context')
    await docker.run('docker', ['stop', id])
    t.equal((await docker.run('docker', ['inspect', '--format', '{{.State.ExitCode}}', id])).trim(), '0')
  })

  await t.test('three etcd, two API servers, a balancer: containers are killed in turn', async (t) => {
    const missing = missingPackages(haPackages)
    if (missing.length > 0) return skipOrFail(t, `${missing.join(', ')} is not installed`)
    await compose('down', '--volumes', '--remove-orphans')
    await ensureHaImage(docker, t)
    rmSync(join(project, '.kubestage'), { recursive: true, force: true })
    await killInTurn(t, { docker, tool, project, root, compose })
  })
})

/** What is committed or about to be, and nothing else: a build must not need more. */
function copyOfCheckout(): string {
  const project = mkdtempSync(join(tmpdir(), 'kubestage-compose-'))
  const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  })
  for (const file of files.split('\0').filter((name) => name && name !== 'node_modules')) {
    mkdirSync(join(project, dirname(file)), { recursive: true })
    cpSync(join(root, file), join(project, file))
  }
  return project
}

function composeIn({ run }: Docker, project: string, env: Record<string, string>) {
  const all = {
    ...env,
    COMPOSE_PROJECT_NAME: 'kubestage-test',
    KUBESTAGE_BUILD_NETWORK: 'host',
    EXTRA_CA_CERTS: localCertificates(),
  }
  return (...args: string[]): Promise<string> => run('docker-compose', args, { cwd: project, env: all })
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address ? address.port : 0
}
