/** Several versions of kubectl, one program; `VERSIONS=all`: every one that is found. What the newest prints is in ../kubectl/, the five-minute tour in ../e2e/. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { repository, startTestCluster } from '../harness/cluster.ts'
import { findKubectls, type Kubectl, kubectl, missingBuilt, missingKubectls } from '../harness/kubectl.ts'
import { politeScript } from '../harness/pods.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'
import { endsAndMiddle } from '../harness/versions.ts'

const manifests = join(repository, 'test', 'kubectl', 'manifests')
const web = ['-f', join(manifests, 'web.yaml')]
const changed = ['-f', join(manifests, 'web-changed.yaml')]

const found = findKubectls()
/** The supported skew of a server of 1.36, and others. */
const supported = found.filter(({ version }) => ['1.35', '1.36'].includes(version))
const versions = [...new Set([...endsAndMiddle(found), ...supported])]
t.setTimeout(900_000)
t.jobs = 3 // each version waits a third of the time, and has a namespace of its own
for (const version of missingKubectls(found)) skipOrFail(t, missingBuilt(version))
if (versions.length === 0) skipOrFail(t, 'no kubectl on this machine')
else {
  const { kubeconfig } = await startTestCluster(t)
  for (const version of versions) {
    t.test(`kubectl ${version.version}`, async (t) => {
      const space = `program-${version.version.replace('.', '-')}`
      const run = (...args: string[]) => kubectl(t, version, kubeconfig, ['-n', space, ...args])
      t.match(await run('create', 'namespace', space), { code: 0 })

      t.match(await run('apply', ...web), { code: 0, stdout: 'deployment.apps/web created' })
      t.match(await run('apply', ...web), { stdout: /^(\S+ unchanged\n){3}$/ })
      t.match(await run('diff', ...changed), { code: 1, stdout: /^\+ +replicas: 3$/m })
      t.match(await run('apply', ...changed), { code: 0, stdout: 'deployment.apps/web configured' })
      t.match(await run('apply', '--server-side', '--field-manager=other', ...web), {
        code: 1,
        stderr: 'Apply failed with',
      })
      t.match(await run('apply', '--server-side', '--field-manager=other', '--force-conflicts', ...web), { code: 0 })
      t.match(await run('create', ...web), { code: 1, stderr: 'already exists' })
      t.match(await run('create', 'configmap', 'No'), { code: 1, stderr: 'Invalid value: "No"' })

      const patch = async (type: string, body: object, name = 'configmap/web') =>
        t.match(await run('patch', name, `--type=${type}`, '-p', JSON.stringify(body)), { code: 0 }, type)
      await patch('json', [{ op: 'add', path: '/data/json', value: '1' }])
      await patch('merge', { data: { merge: '2' } })
      await patch('strategic', { data: { strategic: '3' } })
      const data = await run('get', 'configmap', 'web', '-o', 'jsonpath={.data}')
      t.same(JSON.parse(data.stdout), { colour: 'green', json: '1', merge: '2', strategic: '3' })
      t.match(await run('get', 'configmaps', '-l', 'of=nobody'), { stderr: 'No resources found' })
      t.match(await run('get', 'configmaps', '--chunk-size=1', '-o', 'name'), { stdout: /^configmap\/web$/m })
      t.match(await run('explain', 'deployment.spec.replicas'), { code: 0, stdout: 'integer' })
      await watched(t, version, space)

      for (const cascade of ['background', 'foreground', 'orphan'])
        await t.test(`--cascade=${cascade}`, async (t) => {
          const owner = await run('create', 'configmap', `owner-${cascade}`, '-o', 'jsonpath={.metadata.uid}')
          const ownerReferences = [
            {
              apiVersion: 'v1',
              kind: 'ConfigMap',
              name: `owner-${cascade}`,
              uid: owner.stdout,
              blockOwnerDeletion: true,
            },
          ]
          await run('create', 'configmap', `owned-${cascade}`)
          const owned = JSON.stringify({ metadata: { ownerReferences } })
          await run('patch', 'configmap', `owned-${cascade}`, '-p', owned)
          t.match(await run('delete', 'configmap', `owner-${cascade}`, `--cascade=${cascade}`), { code: 0 })
          const find = () => run('get', 'configmap', `owned-${cascade}`, '--ignore-not-found', '-o', 'name')
          if (cascade === 'orphan') t.match(await find(), { stdout: /owned-orphan/ })
          else t.ok(await until(async () => (await find()).stdout === '', { what: 'the end of what was owned' }))
        })

      const script = `echo hello; ${politeScript}`
      t.match(await run('run', 'talker', '--image=busybox', '--command', '--', 'sh', '-c', script), { code: 0 })
      t.match(await run('wait', '--for=condition=Ready', 'pod/talker', '--timeout=90s'), { code: 0 })
      await until(async () => (await run('logs', 'talker')).stdout === 'hello\n', { what: 'the log' })
      t.match(await run('exec', 'talker', '--', 'sh', '-c', 'echo inside; exit 4'), { code: 4, stdout: 'inside' })
      t.match(await run('delete', 'pod', 'talker', '--grace-period=1'), { code: 0, stdout: 'pod "talker" deleted' })
      t.match(await run('delete', 'namespace', space, '--wait=false'), { code: 0 })
    })
  }

  /** `get --watch` sees what is created meanwhile. */
  async function watched(t: Test, { file }: Kubectl, space: string): Promise<void> {
    const args = ['--kubeconfig', kubeconfig, '-n', space, 'get', 'secrets', '--watch', '-o', 'name']
    const watch = spawn(file, args, { stdio: ['ignore', 'pipe', 'ignore'] })
    t.teardown(() => watch.kill())
    let seen = ''
    watch.stdout.on('data', (chunk: Buffer) => {
      seen += chunk.toString()
    })
    const create = (name: string) =>
      kubectl(t, { file, version: '' }, kubeconfig, ['-n', space, 'create', 'secret', 'generic', name])
    await create('before')
    await until(() => seen.includes('secret/before'), { what: 'the first secret' })
    await create('after')
    await until(() => seen.includes('secret/after'), { what: 'the second secret' })
    t.equal(seen, 'secret/before\nsecret/after\n', 'watched')
  }
}
