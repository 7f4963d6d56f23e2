/** Blocks of pages in other languages than the shell's: TypeScript is type-checked and run, Go vetted. */
import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { type Cluster, resources, startCluster } from '../../library/index.ts'
import type { Pod } from '../../shared/api/types.ts'
import { repository } from '../harness/cluster.ts'
import { type Block, readPage } from '../harness/doc-page.ts'
import { run } from '../harness/run.ts'
import { skipOrFail } from '../harness/skip.ts'

const pages = ['README.md', ...globSync('docs/*.md', { cwd: repository })]
const blocksIn = (language: string): Block[] =>
  pages.flatMap((file) => readPage(file).blocks).filter((block) => block.language === language)

const folder = mkdtempSync(join(tmpdir(), 'kubestage-snippets-'))
symlinkSync(join(repository, 'node_modules'), join(folder, 'node_modules'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))

const namespace = 'default'

/** What a page takes for granted, by a word of the block that does. */
const stages: readonly (readonly [word: string, prepare: (cluster: Cluster) => Promise<void>])[] = [
  ["name: 'web'", runWeb],
  ['journal.assert', updateAsJane],
]

async function runWeb({ client }: Cluster): Promise<void> {
  const spec = { containers: [{ name: 'main', image: 'any' }] }
  await client.create<Pod>(resources.pods, { metadata: { name: 'web' }, spec } as Pod, { namespace })
}

/** One pod is created, and one Deployment updated by jane, over the network. */
async function updateAsJane(cluster: Cluster): Promise<void> {
  const { AppsV1Api, CoreV1Api, RbacAuthorizationV1Api } = await import('@kubernetes/client-node')
  const apiGroup = 'rbac.authorization.k8s.io'
  const binding = {
    metadata: { name: 'jane' },
    roleRef: { apiGroup, kind: 'ClusterRole', name: 'edit' },
    subjects: [{ apiGroup, kind: 'User', name: 'jane' }],
  }
  await (await cluster.apiClient(RbacAuthorizationV1Api)).createClusterRoleBinding({ body: binding })
  const labels = { app: 'shop' }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'any' }] } }
  const body = { metadata: { name: 'shop' }, spec: { replicas: 0, selector: { matchLabels: labels }, template } }
  await (await cluster.apiClient(AppsV1Api)).createNamespacedDeployment({ namespace, body })
  const jane = await cluster.apiClient(AppsV1Api, { name: 'jane' })
  await jane.replaceNamespacedDeployment({ namespace, name: 'shop', body })
  const pod = { metadata: { name: 'seen' }, spec: template.spec }
  await (await cluster.apiClient(CoreV1Api)).createNamespacedPod({ namespace, body: pod })
}

const isImport = (line: string): boolean => line.startsWith('import ')

t.test('TypeScript', async (t) => {
  const blocks = blocksIn('ts')
  t.ok(blocks.length > 4, `${blocks.length} blocks`)
  const file = join(folder, 'blocks.mts')
  writeFileSync(file, moduleOf(blocks))
  const compilerOptions = { rewriteRelativeImportExtensions: false }
  const config = { extends: join(repository, 'tsconfig.json'), compilerOptions, include: [file] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const tsc = join(repository, 'node_modules', '.bin', 'tsc')
  // Without what tap has child processes load: the compiler does not run with it.
  const checked = await run('env', ['-u', 'NODE_OPTIONS', process.execPath, tsc, '--noEmit', '-p', folder])
  t.same(checked, { code: 0, output: '' }, 'types')

  await using cluster = await startCluster({ simulatedNodes: 1, simulatedSteps: true })
  const start = await cluster.snapshot()
  const { default: typed } = (await import(pathToFileURL(file).href)) as {
    default: readonly ((cluster: Cluster) => Promise<void>)[]
  }
  for (const [index, { at, text }] of blocks.entries()) {
    await cluster.restore(start)
    for (const [word, prepare] of stages) if (text.includes(word)) await prepare(cluster)
    await t.resolves(typed[index]!(cluster), at)
    cluster.faults.clear()
  }
})

/** Several blocks may import the same name of a package, among others. */
function singly(line: string): string[] {
  const [, names, from] = /^import \{ (.+) \} (from .+)$/.exec(line) ?? []
  return names?.split(', ').map((name) => `import { ${name} } ${from}`) ?? [line]
}

/** Each block as a function of the cluster that the page speaks of; what they import stands above all. */
function moduleOf(blocks: readonly Block[]): string {
  const imports = new Set<string>()
  const functions = blocks.map(({ at, text }) => {
    const lines = text.split('\n')
    for (const line of lines.filter(isImport)) for (const one of singly(line)) imports.add(one)
    const body = lines.filter((line) => !isImport(line)).join('\n')
    return `// ${at}\nasync (cluster: Cluster): Promise<void> => { {\n${body}\n} },`
  })
  const library = JSON.stringify(join(repository, 'library', 'index.ts'))
  return [
    `import type { Cluster } from ${library}`,
    ...[...imports].map((line) => line.replace("'kubestage'", library)),
    `export default [\n${functions.join('\n')}\n]\n`,
  ].join('\n')
}

t.test('Go', async (t) => {
  if (spawnSync('go', ['version']).status !== 0) return skipOrFail(t, 'there is no Go here')
  const blocks = blocksIn('go')
  t.ok(blocks.length > 0)
  const functions = blocks.map(({ text }, index) => `func page${index}() {\n${text}\n\t_ = environment\n}`)
  const source = `package gocontroller\n\nimport "sigs.k8s.io/controller-runtime/pkg/envtest"\n\n${functions.join('\n')}\n`
  const module = join(repository, 'examples', 'go-controller')
  const file = join(folder, 'pages.go')
  writeFileSync(file, source)
  const overlay = join(folder, 'overlay.json')
  writeFileSync(overlay, JSON.stringify({ Replace: { [join(module, 'pages.go')]: file } }))
  const built = await run('go', ['build', '-overlay', overlay, '.'], { cwd: module, env: { GOTOOLCHAIN: 'local' } })
  t.equal(built?.code, 0, built?.output ?? 'go')
})
