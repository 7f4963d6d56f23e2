import { badRequest, conflict, plainError, resourceNotFound } from '../../../shared/api/status/status-errors.ts'
import type { Binding, KubeObject, Pod, PodCondition } from '../../../shared/api/types.ts'
import { toTime } from '../../../shared/clock/timestamp.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import type { Registry } from '../../registry/registry.ts'
import type { ObjectScope, WriteOptions } from '../../registry/write-context.ts'
import { otherNamespace } from '../../registry/writes/before-create.ts'
import { checkPrecondition, checkUid } from '../../registry/writes/before-update.ts'
import { errorBody, notSupported, required } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { decodeBody } from '../../validation/request-body.ts'
import { warnOf } from '../../validation/strict-errors.ts'
import type { ApiContext } from '../api-context.ts'
import { readBodyAs } from '../body/request-object.ts'
import { negotiateWithoutTable } from '../encode/negotiation.ts'
import type { ResourceExchange } from '../exchange.ts'
import type { WriteAnswer, WriteHandler } from '../handler.ts'
import { parseWriteOptions } from '../options/write-options.ts'
import { admitUnstored } from './admit.ts'
import { boundSpec } from './bound-spec.ts'

const binding = { group: '', version: 'v1', kind: 'Binding', schema: 'io.k8s.api.core.v1.Binding' }

/** The binding of a pod through its own endpoint, whose name the body has to repeat. */
export const bindPod: WriteHandler = (api, context) =>
  createBinding(api, context, { definition: context.definition, name: context.target.name ?? '' })

/**
 * Creates a binding through the collection of bindings, where the body names the pod. Throws a StatusError (404) if the
 * catalog has no pods.
 */
export const createPodBinding: WriteHandler = async (api, context) => {
  const definition = api.catalog.find('', 'v1', 'pods')
  if (!definition) throw resourceNotFound()
  return createBinding(api, context, { definition })
}

async function createBinding(
  api: ApiContext,
  { exchange, target }: ResourceExchange,
  { definition, name }: { definition: ResourceDefinition; name?: string },
): Promise<WriteAnswer> {
  const { request, user } = exchange
  const { encoding } = negotiateWithoutTable(request.headers.accept)
  const options = parseWriteOptions(exchange, 'CreateOptions')
  const raw = { bytes: await exchange.smallBody(), contentType: request.headers['content-type'] }
  const reading = { kind: binding.kind, fieldValidation: options.fieldValidation, maxValues: options.limits.bodyValues }
  const { body, ...parsed } = await readBodyAs(raw, reading)
  const { object, strictErrors } = decodeBody(binding, body, { ...reading, ...parsed })
  warnOf(strictErrors, options.warn)
  exchange.audit?.requested({ kind: binding.kind, apiVersion: binding.version }, object)
  const { namespace } = target
  const scope = { definition, namespace, name: name ?? object.metadata.name ?? '', user }
  await bind(api.registry, scope, object as unknown as Binding, options)
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 }
  return { status: 201, json: JSON.stringify(status), negotiated: { encoding } }
}

/** Assigns a pod to a node: nodeName and the PodScheduled condition in one write. */
export async function bind(
  registry: Registry,
  scope: ObjectScope,
  body: Binding,
  options: WriteOptions,
): Promise<void> {
  if (body.metadata.namespace && body.metadata.namespace !== scope.namespace) throw otherNamespace()
  const asObject = body as unknown as KubeObject
  const check = (): void => checkTarget(scope, body)
  await admitUnstored(registry, { ...scope, subresource: 'binding' }, { kind: binding, body: asObject, options, check })
  if (!scope.name) throw badRequest('Name parameter required.')
  const { metadata, target } = body
  await registry.update(
    { ...scope, subresource: 'binding' },
    {
      uidIsPrecondition: false,
      createAbsent: 'never',
      transform(current) {
        const object = current!((member) => member !== 'spec')
        const pod = object as unknown as Pod
        checkUid(scope, metadata.uid, object.metadata.uid, options.dryRun)
        const { resourceVersion } = object.metadata
        checkPrecondition(scope, 'ResourceVersion', metadata.resourceVersion, resourceVersion, options.dryRun)
        checkPod(scope.definition, pod)
        pod.spec = boundSpec(pod.spec, target.name ?? '')
        if (metadata.annotations) pod.metadata.annotations = { ...pod.metadata.annotations, ...metadata.annotations }
        if (metadata.labels) pod.metadata.labels = { ...pod.metadata.labels, ...metadata.labels }
        // Upstream: ClearingNominatedNodeNameAfterBinding, on by default.
        delete pod.status?.nominatedNodeName
        setScheduled(pod, toTime(registry.clock.now()))
        return object
      },
    },
    { ...options, managedFieldsAreSet: true, isAdmitted: true },
  )
}

function checkTarget({ name }: ObjectScope, { metadata, target }: Binding): void {
  if ((metadata.name ?? '') !== name) throw badRequest('name in URL does not match name in Binding object')
  const errors: FieldErrors = []
  if (target.kind && target.kind !== 'Node') errors.push(notSupported('target.kind', target.kind, ['Node', '<empty>']))
  if (!target.name) errors.push(required('target.name'))
  const messages = errors.map((error) => `${error.field}: ${errorBody(error)}`)
  // A real server answers these two mistakes with a plain 500.
  if (messages.length > 0) throw plainError(messages.length > 1 ? `[${messages.join(', ')}]` : messages[0]!)
}

function checkPod(definition: ResourceDefinition, { metadata, spec }: Pod): void {
  const name = metadata.name ?? ''
  const refused = (why: string) => conflict({ group: '', plural: `${definition.plural}/binding` }, name, why)
  if (metadata.deletionTimestamp) throw refused(`pod ${name} is being deleted, cannot be assigned to a host`)
  if (spec.nodeName) throw refused(`pod ${name} is already assigned to node ${JSON.stringify(spec.nodeName)}`)
  if ((spec.schedulingGates ?? []).length > 0) throw refused(`pod ${name} has non-empty .spec.schedulingGates`)
}

function setScheduled(pod: Pod, now: string): void {
  const scheduled = { type: 'PodScheduled', status: 'True', lastProbeTime: null, lastTransitionTime: now }
  const conditions = (pod.status?.conditions ?? []).filter(({ type }) => type !== 'PodScheduled')
  pod.status = { ...pod.status, conditions: [...conditions, scheduled as unknown as PodCondition] }
}
