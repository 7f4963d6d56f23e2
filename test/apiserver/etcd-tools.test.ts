import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openEtcdStorage } from '../../apiserver/storage/etcd/etcd.ts'
import type { ConfigMap, KubeList, KubeObject } from '../../shared/api/types.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { type Received, startTestApiServer, type TestApiServer } from '../harness/api-server.ts'
import { etcdPrograms, missingEtcd, type RunningEtcd, startEtcd } from '../harness/etcd.ts'
import { etcdctl, missingTools, restoreEtcd } from '../harness/etcd-tools.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'

const configmaps = '/api/v1/namespaces/default/configmaps'

async function startServer(t: Test, { url }: RunningEtcd): Promise<TestApiServer> {
  const storage = await openEtcdStorage({ endpoints: [url], prefix: '/registry', clock: realClock })
  return startTestApiServer(t, {}, undefined, undefined, { storage })
}
const post = (server: TestApiServer, path: string, body: object) => server.send(path, { method: 'POST', body })
const create = (server: TestApiServer, name: string) => post(server, configmaps, { metadata: { name }, data: { name } })
const revisionOf = (object: unknown): number => Number((object as KubeObject).metadata.resourceVersion)

/** A watch's answer, as far as it comes within a moment or until it ends. */
async function watchFrom(server: TestApiServer, revision: number): Promise<Received> {
  return server.send(`${configmaps}?watch=true&timeoutSeconds=1&resourceVersion=${revision}`)
}

const programs = etcdPrograms()
for (const reason of missingEtcd(programs)) skipOrFail(t, reason)

for (const program of programs) {
  const missing = missingTools(program)
  if (missing) {
    skipOrFail(t, missing)
    continue
  }
  t.test(`etcdctl and etcd ${program.version}`, async (t) => {
    const etcd = await startEtcd(t, program)
    const server = await startServer(t, etcd)
    let instead = etcd
    const restore = async (file: string, ...args: string[]): Promise<void> => {
      instead = await restoreEtcd(t, program, { file, instead, args })
    }
    const folder = scratchFolder(t, 'etcd-tools')
    const file = join(folder, 'backup.db')

    await t.test('keys and values are as documented', async (t) => {
      const port = { port: 80 }
      const service = { metadata: { name: 'web' }, spec: { ports: [port], clusterIP: 'None' } }
      const made: [path: string, body: object, key: string][] = [
        [configmaps, { metadata: { name: 'plain' }, data: { text: 'ünï\n"x"' } }, '/registry/configmaps/default/plain'],
        ['/api/v1/namespaces/default/services', service, '/registry/services/specs/default/web'],
        ['/api/v1/nodes', { metadata: { name: 'n1' } }, '/registry/minions/n1'],
        [
          '/apis/coordination.k8s.io/v1/namespaces/default/leases',
          { metadata: { name: 'l' } },
          '/registry/leases/default/l',
        ],
      ]
      for (const [path, body, key] of made) {
        const answer = await post(server, path, body)
        t.equal(answer.status, 201, key)
        const { kind: _, apiVersion: __, metadata, ...rest } = answer.body as ConfigMap
        const { resourceVersion, ...kept } = metadata
        const value = JSON.parse(await etcdctl(etcd, 'get', key, '--print-value-only'))
        t.same(value, { metadata: kept, ...rest }, 'without kind, apiVersion and resourceVersion')
        const { kvs } = JSON.parse(await etcdctl(etcd, 'get', key, '-w', 'json'))
        t.equal(String(kvs[0].mod_revision), resourceVersion)
      }
      const keys = (await etcdctl(etcd, 'get', '--prefix', '/registry/', '--keys-only')).split('\n').filter(Boolean)
      t.ok(keys.includes('/registry/namespaces/default'))
      t.same(
        (await etcdctl(etcd, 'get', '--prefix', '', '--keys-only'))
          .split('\n')
          .filter((key) => key && !key.startsWith('/registry/') && key !== 'compact_rev_key'),
        [],
        'nothing is elsewhere',
      )
    })

    await t.test('what etcdctl deletes and changes is deleted and changed', async (t) => {
      await create(server, 'gone')
      await etcdctl(etcd, 'del', '/registry/configmaps/default/gone')
      t.equal((await server.send(`${configmaps}/gone`)).status, 404)
      const value = { metadata: { name: 'plain', namespace: 'default', uid: 'u' }, data: { by: 'etcdctl' } }
      await etcdctl(etcd, 'put', '/registry/configmaps/default/plain', JSON.stringify(value))
      t.match((await server.send(`${configmaps}/plain`)).body, { data: { by: 'etcdctl' } })
    })

    const acknowledged: KubeObject[] = []
    let saved: { before: number; after: number } | undefined
    await t.test('a snapshot is saved while writes go on', async () => {
      const stop = new AbortController()
      const writing = (async () => {
        while (!stop.signal.aborted)
          acknowledged.push((await create(server, `w-${acknowledged.length}`)).body as KubeObject)
      })()
      await until(() => acknowledged.length > 20, { what: 'writes' })
      const before = acknowledged.length
      await etcdctl(etcd, 'snapshot', 'save', file)
      saved = { before, after: acknowledged.length }
      await until(() => acknowledged.length > saved!.after + 20, { what: 'writes' })
      stop.abort()
      await writing
    })

    await t.test('an etcd restored from it has all that was acknowledged before', async (t) => {
      const last = revisionOf(acknowledged.at(-1))
      await restore(file)
      // The server that knows what came later takes no part in it.
      await until(async () => (await create(server, 'late')).status === 500, { what: 'the refusal' })
      t.match((await create(server, 'late')).body, {
        message:
          /etcd at \S+ went back from revision \d+ to \d+: an older snapshot was restored; start all API servers/,
      })
      t.equal((await server.send('/readyz/etcd')).status, 500)
      t.equal((await server.send('/healthz/etcd')).status, 500)

      const next = await startServer(t, etcd)
      const { items } = (await next.send(configmaps)).body as KubeList<KubeObject>
      const names = items.map(({ metadata }) => metadata.name!).filter((name) => name.startsWith('w-'))
      const count = names.length
      t.ok(count >= saved!.before && count <= saved!.after + 1, `${JSON.stringify(saved)} ${count}`)
      for (const [index, { metadata }] of acknowledged.slice(0, count).entries()) {
        const found = items.find(({ metadata: { name } }) => name === `w-${index}`)
        t.same(found?.metadata, metadata, `w-${index} is as it was acknowledged, and none before it is missing`)
      }
      const made = await create(next, 'new')
      t.equal(made.status, 201)
      t.ok(revisionOf(made.body) > revisionOf(acknowledged[count - 1]), 'revisions go on')
      // What a client saw after the snapshot is not known to have been.
      const future = last + 1_000
      t.match((await next.send(`${configmaps}?resourceVersion=${future}`)).body, {
        code: 504,
        reason: 'Timeout',
        message: /Too large resource version: \d+, current: \d+$/,
      })
      t.equal((await watchFrom(next, future)).body, '', 'a watch from there waits, as at a real server')
    })

    if (program.version.startsWith('3.4.')) return
    await t.test('with --bump-revision and --mark-compacted no client takes the old for the new', async (t) => {
      const open = await startServer(t, etcd)
      const before = revisionOf((await create(open, 'lost')).body)
      await restore(file, '--bump-revision', '1000000', '--mark-compacted')
      // The same etcd cluster, further on: a server that runs reads all again.
      const made = await until(
        async () => {
          const answer = await create(open, 'bumped')
          return answer.status === 201 ? answer : undefined
        },
        { what: 'a write' },
      )
      t.ok(revisionOf(made.body) > 1_000_000)
      for (const each of [open, await startServer(t, etcd)]) {
        t.equal((await each.send(`${configmaps}/lost`)).status, 404)
        t.equal((await each.send(`${configmaps}/w-0`)).status, 200)
        t.match((await watchFrom(each, before)).body, { type: 'ERROR', object: { code: 410, reason: 'Expired' } })
        const exact = `${configmaps}?resourceVersion=${before}&resourceVersionMatch=Exact`
        t.match((await each.send(exact)).body, { code: 410, reason: 'Expired' })
        const object = (await each.send(`${configmaps}/w-0`)).body as ConfigMap
        const stale = { ...object, metadata: { ...object.metadata, resourceVersion: String(before) } }
        t.equal((await each.send(`${configmaps}/w-0`, { method: 'PUT', body: stale })).status, 409)
      }
    })
  })
}
