/** Makes a case from a seed: an object of a recording, changed in odd ways, and the requests that send it. */
import { Random } from '../../../test/fuzz/random.ts'
import type { Base } from '../bases.ts'
import type { Case, Step } from '../case.ts'
import { mutate, oddValue, oddValues, type Path, pathsOf } from '../mutate.ts'

const operations = ['create', 'create', 'create', 'put', 'merge', 'strategic', 'json', 'apply', 'status'] as const
export type Operation = (typeof operations)[number]

const typeOf = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
  status: 'application/merge-patch+json',
  apply: 'application/apply-patch+yaml',
}

const oddStatuses: readonly unknown[] = [
  ...oddValues,
  { phase: 'Running' },
  { replicas: 3 },
  { conditions: [{ type: 'A', status: 'True' }] },
  { conditions: [{}] },
  { observedGeneration: -1 },
]

export class Generator {
  readonly #kinds: ReadonlyMap<string, readonly Base[]>
  readonly #names: string[]
  constructor(kinds: ReadonlyMap<string, readonly Base[]>) {
    this.#kinds = kinds
    this.#names = [...kinds.keys()].sort()
  }

  make(seed: number): Case {
    const random = new Random(seed)
    const kind = random.pick(this.#names)
    const { path, body } = random.pick(this.#kinds.get(kind)!)
    const base = { ...structuredClone(body), metadata: { ...body.metadata, name: '{{name}}' } } as Base['body']
    delete base.metadata.generateName
    // A volume with a token would differ in its name.
    if (kind === 'Pod' && base.spec) (base.spec as { [name: string]: unknown }).automountServiceAccountToken = false
    const operation = random.pick(operations)
    const changed = structuredClone(base)
    const what = [mutate(changed, random)]
    for (let more = random.pick([0, 0, 1, 2]); more > 0; more--) what.push(mutate(changed, random))
    const about = { kind, operation, what: what.join(' + ') }
    const object = `${path}/{{name}}`
    if (operation === 'create') return { ...about, steps: [post(`${path}?dryRun=All&fieldManager=f`, changed)] }
    if (operation === 'apply') {
      const applied = patch('apply', `${object}?dryRun=All&fieldManager=f&force=true`, changed)
      return { ...about, steps: [applied] }
    }
    const make = post(`${path}?fieldManager=f`, base)
    const change = changeOf(operation, object, { base, changed, random })
    return { ...about, steps: [make, change, { method: 'GET', path: object }] }
  }
}

const post = (path: string, body: unknown): Step => ({ method: 'POST', path, body })
const patch = (operation: keyof typeof typeOf, path: string, body: unknown): Step => ({
  method: 'PATCH',
  path,
  type: typeOf[operation],
  body,
})

interface Change {
  base: Base['body']
  changed: Base['body']
  random: Random
}

function changeOf(operation: Exclude<Operation, 'create' | 'apply'>, object: string, change: Change): Step {
  const { base, changed, random } = change
  const asked = `${object}?fieldManager=f`
  switch (operation) {
    case 'put':
      return { method: 'PUT', path: asked, body: changed }
    case 'merge':
    case 'strategic':
      return patch(operation, asked, changed)
    case 'json':
      return patch(operation, asked, [oddOperation(base, random)])
    case 'status': {
      const body = { status: structuredClone(changed.status ?? random.pick(oddStatuses)), spec: changed.spec }
      return patch(operation, `${object}/status?fieldManager=f`, body)
    }
  }
}

function oddOperation(base: unknown, random: Random): unknown {
  const paths = [...pathsOf(base)]
  return {
    op: random.pick(['remove', 'replace', 'add', 'test', 'copy', 'move']),
    path: pointer(random.pick(paths)),
    from: pointer(random.pick(paths)),
    value: oddValue(random),
  }
}

const pointer = (path: Path): string =>
  path.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
