/** What a mutating and a validating policy cost a create of a pod. */
import { beside, cpuOf } from './cost.ts'
import { Http2Connection, type Target } from './http2-connection.ts'
import { create } from './measure.ts'
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

/** Creates with policies and without, in turns, in CPU time of the server; the first round warms up. */
export async function measurePolicies(server: Server, rounds: number): Promise<Row[]> {
  const costs: Record<'with' | 'without', number[]> = { with: [], without: [] }
  for (let round = 0; round <= rounds; round++) {
    for (const which of ['without', 'with'] as const) {
      if (which === 'with') await setPolicies(server.target, 'POST')
      const cost = await cpuOf(server, { count: COUNT, request: (i) => create(`${which}-policies-${round}-${i}`) })
      if (which === 'with') await setPolicies(server.target, 'DELETE')
      if (round > 0) costs[which].push(cost)
    }
  }
  const what = 'create with a mutating and a validating policy, and without'
  return [beside(what, costs.with, costs.without, 1 / 0.6)]
}
