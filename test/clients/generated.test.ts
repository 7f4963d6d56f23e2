/** A client that a common generator makes of our OpenAPI document compiles in strict mode, and lists pods. */
import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import t from 'tap'
import { startTestApiServer } from '../harness/api-server.ts'
import { repository } from '../harness/cluster.ts'
import { run } from '../harness/run.ts'
import { skipOrFail } from '../harness/skip.ts'

const timeoutMs = 120_000
t.setTimeout(2 * timeoutMs)

const modules = join(repository, 'test', 'toolchains', 'node_modules')
const generator = join(modules, '@hey-api', 'openapi-ts', 'bin', 'run.js')
const compiler = join(modules, 'typescript', 'bin', 'tsc')

if (!existsSync(generator))
  skipOrFail(t, 'no generator of clients: run npm ci --ignore-scripts --prefix test/toolchains')
else {
  const folder = mkdtempSync(join(tmpdir(), 'kubestage-generated-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const node = async (program: string, args: string[], env: Record<string, string> = {}) =>
    run(process.execPath, [program, ...args], { timeoutMs, cwd: folder, env })

  const server = await startTestApiServer(t)
  const document = join(folder, 'core.json')
  writeFileSync(document, (await server.send('/openapi/v3/api/v1')).bytes)
  for (const name of ['list-pods.ts', 'tsconfig.json']) {
    copyFileSync(join(import.meta.dirname, 'generated', name), join(folder, name))
  }
  const plugins = ['@hey-api/typescript', '@hey-api/sdk', '@hey-api/client-fetch']
  const made = await node(generator, ['-i', document, '-o', join(folder, 'client'), '-p', ...plugins, '--silent'])
  if (made?.code !== 0) throw new Error(`openapi-ts: ${made?.output}`)

  const compiled = await node(compiler, ['-p', folder])
  const bundle = join(folder, 'list-pods.mjs')
  await build({ entryPoints: [join(folder, 'list-pods.ts')], bundle: true, format: 'esm', outfile: bundle })

  const ca = join(folder, 'ca.crt')
  writeFileSync(ca, server.tls.ca)
  const admin = {
    metadata: { name: 'generated' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', name: 'default', namespace: 'default' }],
  }
  const bindings = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings'
  await server.send(bindings, { method: 'POST', body: admin })
  const account = '/api/v1/namespaces/default/serviceaccounts/default/token'
  const { body } = await server.send(account, { method: 'POST', body: { spec: {} } })
  const { token } = (body as { status: { token: string } }).status
  const listed = await node(bundle, [`https://127.0.0.1:${server.port}`, token], { NODE_EXTRA_CA_CERTS: ca })

  t.test('a generated client compiles, creates a pod and lists it', async (t) => {
    t.equal(compiled?.code, 0, compiled?.output.slice(0, 1500) ?? 'no compiler')
    if (listed?.code !== 0) t.comment(listed?.output.slice(0, 1500) ?? 'not run')
    t.equal(listed?.output.trim(), 'true PodList a')
  })
}
