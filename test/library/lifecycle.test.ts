/** How clusters end, and what is left of them: nothing. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { resources, startCluster } from '../../library/index.ts'
import { processesWith } from '../harness/processes.ts'
import { until } from '../harness/until.ts'
import { configMap, namespace, outside, start } from './stage.ts'

const { configMaps, pods, serviceAccounts } = resources
const library = import.meta.resolve('../../library/index.ts')

/** An empty folder, which no test runner looks into. */
function folderOf(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'kubestage-lifecycle-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

t.test('a process that ends without closing its cluster', async (t) => {
  t.jobs = 3
  /** Runs a pod, says so, and ends. */
  const program = (end: string): string => `
    const { resources: { pods }, startCluster } = await import(${JSON.stringify(library)})
    const cluster = await startCluster()
    const web = { namespace: 'default', name: 'web' }
    const main = { name: 'main', image: 'busybox', command: ['sh', '-c', 'while :; do sleep 0.05; done'] }
    await cluster.client.create(pods, { metadata: web, spec: { containers: [main] } })
    await cluster.waitFor(pods, web, ({ status }) => status?.phase === 'Running')
    console.log('running')
    ${end}`
  const endings: Record<string, { end: string; signal?: NodeJS.Signals }> = {
    'by exit': { end: 'process.exit(0)' },
    'by an error that nobody catches': { end: "setImmediate(() => { throw new Error('nobody catches this') })" },
    'by SIGKILL': { end: '', signal: 'SIGKILL' },
  }
  for (const [how, { end, signal }] of Object.entries(endings)) {
    t.test(how, async (t) => {
      const folder = folderOf(t)
      const env = { ...process.env, TMPDIR: folder }
      const child = spawn(process.execPath, ['--input-type=module', '-e', program(end)], { env, stdio: 'pipe' })
      await once(child.stdout, 'data')
      if (signal) child.kill(signal)
      await once(child, 'exit')
      await until(() => processesWith(folder).length === 0, { what: `${how}: all processes to end` })
      t.equal(readdirSync(folder).length, signal ? 1 : 0, 'its folder went with it, but for a kill')
    })
  }
})

t.test('a start that fails leaves nothing', async (t) => {
  const listener = createServer().listen(0, '127.0.0.1')
  t.teardown(() => listener.close())
  await once(listener, 'listening')
  const { port } = listener.address() as { port: number }
  await t.rejects(startCluster({ apiOnly: true, port }), new RegExp(`port ${port}`))

  const stateDir = folderOf(t)
  mkdirSync(join(stateDir, 'nodes'))
  writeFileSync(join(stateDir, 'nodes', 'node-2'), 'in the way')
  await t.rejects(startCluster({ nodes: 2, stateDir }), { code: 'ENOTDIR' })
  t.same(processesWith(stateDir), [], 'the node that could be started has been stopped')
  await (await startCluster({ apiOnly: true, stateDir })).close()
  t.ok(existsSync(stateDir), 'a folder that was given stays')
})

t.test('a cluster that is closed while it makes its signing key leaves no folder', async () => {
  const cluster = await startCluster({ apiOnly: true })
  await cluster.client.create(serviceAccounts, { metadata: { namespace, name: 'robot' } })
  const asking = cluster.client.create(
    serviceAccounts,
    { spec: {} },
    { namespace, name: 'robot', subresource: 'token' },
  )
  await Promise.allSettled([asking, cluster.close()])
  t.notOk(existsSync(dirname(cluster.kubeconfigFile)))
})

t.test('a wait that is open when a cluster is closed is rejected', async (t) => {
  const cluster = await start(t)
  const never = (): boolean => false
  const waits: Promise<unknown>[] = [
    cluster.waitFor(configMaps, { namespace, name: 'none' }, never),
    cluster.waitForDeleted(configMaps, { namespace, name: 'none' }).then(() => cluster.terminations.of('web')),
    cluster.journal.waitFor({ verb: 'delete' }),
  ]
  const waiting = waits.map((work) => t.rejects(work, /^the cluster has been closed$/))
  await until(() => cluster.client.list(pods), { what: 'an answer' })
  await Promise.all([cluster.close(), cluster.close(), ...waiting])
  await t.rejects(cluster.waitFor(configMaps, { namespace }, never), /^the cluster has been closed$/)
  await t.rejects(cluster.journal.waitFor({}), /^the cluster has been closed$/)
  await t.rejects(outside(t, cluster).list(pods), /ECONNREFUSED/)
})

t.test('a cluster in each worker thread', async (t) => {
  const code = `
    const { parentPort } = require('node:worker_threads')
    import(${JSON.stringify(library)}).then(async ({ resources, startCluster }) => {
      const cluster = await startCluster({ simulatedNodes: 1 })
      await cluster.client.create(resources.configMaps, ${JSON.stringify(configMap('a'))})
      const { items } = await cluster.client.list(resources.configMaps, { namespace: 'default' })
      parentPort.postMessage({ names: items.map(({ metadata }) => metadata.name), url: cluster.url })
      await cluster.close()
    })`
  const workers = Array.from({ length: 3 }, () => new Worker(code, { eval: true }))
  const ended = workers.map((worker) => once(worker, 'exit'))
  const seen = await Promise.all(workers.map(async (worker) => (await once(worker, 'message'))[0]))
  t.equal(new Set(seen.map(({ url }) => url)).size, 3)
  for (const { names } of seen) t.ok(names.includes('a'))
  t.same((await Promise.all(ended)).flat(), [0, 0, 0], 'nothing keeps a thread alive')
})
