/** Every kind of the catalog through kubectl. A kind is tested by being in the catalog: its example is what is created. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Column, ResourceDefinition, Verb } from '../../apiserver/kind/resource-definition.ts'
import { keyPrefix } from '../../apiserver/registry/keys.ts'
import { resources } from '../../apiserver/resources/index.ts'
import type { KubeObject } from '../../shared/api/types.ts'
import { startTestCluster } from '../harness/cluster.ts'
import { findKubectls, kubectl } from '../harness/kubectl.ts'
import { skipOrFail } from '../harness/skip.ts'

const defaultColumns = [{ name: 'Name' }, { name: 'Created At' }] as Column[]

const can =
  (verb: Verb) =>
  ({ verbs }: ResourceDefinition): boolean =>
    !verbs || verbs.includes(verb)
const [isCreated, isKept] = [can('create'), can('get')]

/** As kubectl names an object: `deployment.apps/web`. */
const nameOf = (kind: ResourceDefinition): string => `${typeOf(kind)}/${kind.example.metadata.name}`
const typeOf = ({ kind, group }: ResourceDefinition): string => `${kind.toLowerCase()}${group && `.${group}`}`

t.setTimeout(600_000)
const newest = findKubectls().at(-1)
if (!newest) skipOrFail(t, 'no kubectl on this machine')
else {
  // No kubelet reports on the node that is created here: it must not get taints for that.
  const flags = ['--kubelet=false', '--scheduler=false', '--controllers=*', '--controllers=-node-lifecycle-controller']
  const { kubeconfig, stateDir } = await startTestCluster(t, ...flags)
  const run = (t: Test, ...args: string[]) => kubectl(t, newest, kubeconfig, args)

  await t.test('what is only asked, and not kept', async (t) => {
    // A binding is for a pod that is there.
    const asked = resources.filter((kind) => isCreated(kind) && !isKept(kind) && kind.kind !== 'Binding')
    t.ok(asked.length > 0)
    const { code, stdout, stderr } = await run(t, 'create', '-o', 'json', '-f', write('asked', asked))
    t.equal(code, 0, stderr)
    const answers = stdout.split(/^(?=\{)/m).map((text) => JSON.parse(text) as KubeObject)
    for (const kind of asked)
      t.ok(answers.find((answer) => answer.kind === kind.kind)?.status, `${kind.kind}: an answer`)
  })

  await t.test('what can only be read', async (t) => {
    for (const kind of resources.filter((kind) => !isCreated(kind))) {
      const type = kind.group === '' ? kind.plural : `${kind.plural}.${kind.group}`
      // Nothing is measured where no kubelet runs.
      const stdout = kind.group === 'metrics.k8s.io' ? '' : /^NAME /
      t.match(await run(t, 'get', type), { code: 0, stdout }, type)
    }
  })

  // Two versions of one resource have one set of names: one after the other.
  for (const [turn, kinds] of turns(resources.filter((kind) => isCreated(kind) && isKept(kind))).entries()) {
    await t.test(`all kinds, turn ${turn + 1}`, async (t) => {
      const file = write(`kept-${turn}`, kinds)

      /** One call for all kinds, which says the same of each. */
      const step = (said: string, ...args: string[]) =>
        t.test(said, async (t) => {
          const { code, stdout, stderr } = await run(t, ...args, '-f', file)
          const lines = new Set(stdout.split('\n'))
          for (const kind of kinds) t.ok(lines.has(`${nameOf(kind)} ${said}`), nameOf(kind))
          t.equal(code, 0, stderr)
        })

      await step('created', 'create', '--validate=strict')
      await t.test('as a table', async (t) => {
        const { stdout } = await run(t, 'get', '-f', file)
        const tables = tablesOf(stdout)
        for (const kind of kinds) {
          const shown = (kind.columns ?? defaultColumns).filter(({ priority = 0 }) => priority === 0)
          const titles = shown.map(({ name }) => name.toUpperCase())
          // An event's name is not shown.
          const found = titles.includes('NAME') ? tables.get(nameOf(kind)) : tables.get('')
          t.same(found, titles, nameOf(kind))
        }
      })
      await step(
        'patched',
        'patch',
        '--type=merge',
        '-p',
        '{"metadata":{"annotations":{"example.com/note":"patched"}}}',
      )
      await step('configured', 'apply')
      await t.test('applied again', async (t) => {
        const before = await versions(t, file)
        t.match(await run(t, 'apply', '-f', file), { code: 0 })
        const after = await versions(t, file)
        for (const kind of kinds)
          t.equal(after.get(nameOf(kind)), before.get(nameOf(kind)), `${nameOf(kind)}: unchanged`)
      })
      await step('serverside-applied', 'apply', '--server-side', '--force-conflicts')
      await step('labeled', 'label', 'example.com/tried=yes')
      await t.test('deleted', async (t) => {
        const { stdout, code, stderr } = await run(t, 'delete', '-f', file, '--timeout=90s')
        t.equal(code, 0, stderr)
        for (const kind of kinds) t.match(stdout, `${typeOf(kind)} "${kind.example.metadata.name}" deleted`)
        t.equal((await run(t, 'get', '-f', file, '--ignore-not-found', '-o', 'name')).stdout, '', 'nothing is left')
      })
    })
  }

  /** Generation and content of each object, without what control loops write. */
  async function versions(t: Test, file: string): Promise<Map<string, string>> {
    const { stdout } = await run(t, 'get', '-f', file, '-o', 'json')
    const { items } = JSON.parse(stdout) as { items: KubeObject[] }
    return new Map(
      items.map(({ apiVersion = '', kind = '', metadata, status: _status, ...content }) => {
        const [group, version] = apiVersion.split('/')
        const type = `${kind.toLowerCase()}${version ? `.${group}` : ''}`
        const { generation, labels, annotations } = metadata
        return [`${type}/${metadata.name}`, JSON.stringify({ generation, labels, annotations, content })]
      }),
    )
  }

  function write(name: string, kinds: readonly ResourceDefinition[]): string {
    const file = join(stateDir, `${name}.json`)
    writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: kinds.map(({ example }) => example) }))
    return file
  }
}

/** Each resource once a turn. */
function turns(kinds: readonly ResourceDefinition[]): ResourceDefinition[][] {
  const result: ResourceDefinition[][] = []
  for (const kind of kinds) {
    const isTaken = (turn: ResourceDefinition[]) => turn.some((other) => keyPrefix(other) === keyPrefix(kind))
    const free = result.find((turn) => !isTaken(turn))
    if (free) free.push(kind)
    else result.push([kind])
  }
  return result
}

/** The titles above each object's row. */
function tablesOf(text: string): Map<string, string[]> {
  const tables = new Map<string, string[]>()
  for (const block of text.split('\n\n')) {
    const [head = '', ...rows] = block.trimEnd().split('\n')
    const titles = head.split(/ {2,}/).filter(Boolean)
    for (const row of rows) tables.set(titles.includes('NAME') ? (row.split(' ')[0] ?? '') : '', titles)
  }
  return tables
}
