import type { V1CustomResourceDefinition, V1ValidatingAdmissionPolicy } from '@kubernetes/client-node'
import type { WithMeta } from '../shared/api/types.ts'
import { customResourceDefinitions, validatingAdmissionPolicies } from '../shared/client/resources.ts'
import type { ApiResource, ApiResources, Controller, ControllerContext } from './controller.ts'
import { createLoopQueue } from './loop-queue.ts'

type Policy = WithMeta<V1ValidatingAdmissionPolicy>
type Definition = WithMeta<V1CustomResourceDefinition>

/** Says what is wrong with the expressions of a policy; it compiles them, which a control loop cannot. */
export type TypeCheck = (
  policy: Policy,
  kinds: readonly ApiResource[],
  definitions: readonly Definition[],
) => Promise<{ fieldRef: string; warning: string }[]>

export interface PolicyStatusOptions {
  resources: ApiResources
  /** Checks a policy; without it nothing is checked. */
  checkTypes?: TypeCheck
}

/** Writes warnings of a type check into the status of policies. Upstream: pkg/controller/validatingadmissionpolicystatus. */
export function startPolicyStatus(
  { client, informers, log, clock }: ControllerContext,
  { resources, checkTypes }: PolicyStatusOptions,
): Controller | undefined {
  if (!checkTypes) return undefined
  const add = ({ metadata }: Policy): void => queue.add(metadata.name ?? '')
  const policies = informers.selected<Policy>(validatingAdmissionPolicies, {
    handlers: [{ onAdd: add, onUpdate: (_, policy) => add(policy) }],
  })
  const queue = createLoopQueue(
    { clock, log, loop: 'validatingadmissionpolicy-status-controller', object: 'ValidatingAdmissionPolicy' },
    async (name) => {
      const policy = policies.get({ name })
      const { generation = 0 } = policy?.metadata ?? {}
      if (!policy || generation <= (policy.status?.observedGeneration ?? 0)) return
      const { items } = await client.list<Definition>(customResourceDefinitions)
      const warnings = await checkTypes(policy, resources.current(), items)
      const expressionWarnings = warnings.length > 0 ? warnings : null
      const status = { observedGeneration: generation, typeChecking: { expressionWarnings } }
      await client.patch(validatingAdmissionPolicies, { name }, { status }, { subresource: 'status' })
    },
  )
  return { close: () => queue.close() }
}
