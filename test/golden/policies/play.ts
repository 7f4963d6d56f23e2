/** Sends the expressions and scenarios to a server, and reads what is answered. */
import { expressions } from './expressions.ts'
import { type Ask, type Policy, type Scenario, scenarios } from './scenarios.ts'

export interface Heard {
  status: number
  warning?: string
  body: unknown
}
export type Send = (ask: Ask) => Promise<Heard>
/** Answers by the name of the scenario; those to expressions by the expressions' place. */
export type Answers = Record<string, Heard[]>

const group = '/apis/admissionregistration.k8s.io/v1'
const maps = { apiGroups: ['apps'], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['deployments'] }

/** `settle` resolves when the policies are in force. */
export async function play(send: Send, settle: () => Promise<void>): Promise<Answers> {
  const answers: Answers = {}
  for (const [index, ask] of expressions.entries()) answers[`${index}`] = [heard(await send(ask))]
  for (const scenario of scenarios) await prepare(scenario, send)
  await settle()
  for (const { name, asks } of scenarios) {
    answers[name] = []
    for (const ask of asks) answers[name].push(heard(await send(within(name, ask))))
  }
  return answers
}

async function prepare({ name, before = [], policies }: Scenario, send: Send): Promise<void> {
  const must = async (ask: Ask): Promise<void> => {
    const { status, body } = await send(ask)
    if (status !== 201) throw new Error(`${name}: ${status} ${JSON.stringify(body)}`)
  }
  await must({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name } } })
  for (const ask of before) await must(within(name, ask))
  for (const [index, policy] of policies.entries())
    for (const ask of asksFor(policy, name, `${name}-${index}`)) await must(ask)
}

function asksFor({ spec, binding, rules = [maps], match }: Policy, namespace: string, name: string): Ask[] {
  const isMutating = !('validations' in spec)
  const kind = isMutating ? 'mutating' : 'validating'
  const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': namespace } }
  const body = {
    metadata: { name },
    spec: {
      matchConstraints: { namespaceSelector, resourceRules: rules, ...match },
      ...(isMutating && { reinvocationPolicy: 'Never' }),
      ...spec,
    },
  }
  return [
    { method: 'POST', path: `${group}/${kind}admissionpolicies`, body },
    {
      method: 'POST',
      path: `${group}/${kind}admissionpolicybindings`,
      body: { metadata: { name }, spec: { policyName: name, ...binding } },
    },
  ]
}

const within = (namespace: string, ask: Ask): Ask =>
  ask.path.startsWith('/')
    ? ask
    : { ...ask, path: `/${ask.path.replace(/^(api\/v1|apis\/[^/]+\/v1)\//, `$1/namespaces/${namespace}/`)}` }

/** What differs from server to server, and from time to time, is left out. */
function heard({ status, warning, body }: Heard): Heard {
  return { status, ...(warning && { warning }), body: stripped(body) }
}
function stripped(body: unknown): unknown {
  const { metadata, ...rest } = body as { metadata?: Record<string, unknown>; kind?: string }
  if (rest.kind === 'Status' || metadata === undefined) return body
  const { uid: _, creationTimestamp: __, resourceVersion: ___, managedFields, name, ...kept } = metadata
  const shown = kept.generateName === undefined ? { name, ...kept } : kept
  return { ...rest, metadata: { ...shown, ...fieldsOf(managedFields) } }
}
/** Managers and their fields without times. */
function fieldsOf(managedFields: unknown): object {
  if (!Array.isArray(managedFields)) return {}
  const entries = managedFields.map(({ time: _, manager: __, ...entry }: Record<string, unknown>) => entry)
  return { managedFields: entries }
}
