/** What a mutating and a validating policy cost a create of a pod. */
import { Http2Connection, type Target } from './http2-connection.ts'
import { load, median } from './load.ts'
import { CONNECTIONS, create } from './measure.ts'
import type { Server } from './processes.ts'
import type { Row } from './report.ts'

const GROUP = '/apis/admissionregistration.k8s.io/v1'
const NAME = 'bench'
const COUNT = 2_000
const matchConstraints = {
  resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
}
const expression = 'Object{metadata: Object.metadata{labels: {"mutated": object.metadata.name}}}'
const KINDS: [kind: string, spec: object, binding: object][] = [
  [
    'mutating',
    {
      matchConstraints,
      reinvocationPolicy: 'Never',
      mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression } }],
    },
    {},
  ],
  [
    'validating',
    { matchConstraints, validations: [{ expression: 'object.spec.containers.all(c, has(c.image) && c.image != "")' }] },
    { validationActions: ['Deny'] },
  ],
]

async function setPolicies(target: Target, method: 'POST' | 'DELETE'): Promise<void> {
  const connection = await Http2Connection.open(target)
  for (const [kind, spec, binding] of KINDS) {
    const objects = { policies: spec, policybindings: { policyName: NAME, ...binding } }
    for (const [what, object] of Object.entries(objects)) {
      const path = `${GROUP}/${kind}admission${what}`
      const body = Buffer.from(JSON.stringify({ metadata: { name: NAME }, spec: object }))
      if (method === 'POST') await connection.request({ method, path, contentType: 'application/json', body })
      else await connection.request({ method, path: `${path}/${NAME}` }).catch(unlessDeleted)
    }
  }
  connection.close()
}

/** The answer to a deletion is a Status, which the connection takes for a failure. */
function unlessDeleted(error: Error): void {
  if (!error.message.includes('"status":"Success"')) throw error
}

/** Creates with policies and without, in turns; the first round warms up. */
export async function measurePolicies({ target }: Server, rounds: number): Promise<Row[]> {
  const rates: Record<'with' | 'without', number[]> = { with: [], without: [] }
  for (let round = 0; round <= rounds; round++) {
    for (const which of ['without', 'with'] as const) {
      if (which === 'with') await setPolicies(target, 'POST')
      const request = (i: number) => create(`${which}-policies-${round}-${i}`)
      const { perSecond } = await load(target, { count: COUNT, connections: CONNECTIONS, request })
      if (which === 'with') await setPolicies(target, 'DELETE')
      if (round > 0) rates[which].push(perSecond)
    }
  }
  const what = 'create with a mutating and a validating policy'
  return [{ what, unit: 'requests/s', ours: median(rates.with), ceiling: median(rates.without), goal: 0.6 }]
}
