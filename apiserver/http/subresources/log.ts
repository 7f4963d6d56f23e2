import { badRequest, notFound } from '../../../shared/api/status-errors.ts'
import type { Node, Pod } from '../../../shared/api/types.ts'
import { invalid, invalidObject } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import type { ApiContext } from '../api-context.ts'
import type { ResourceExchange } from '../exchange.ts'
import { integer } from '../list-options.ts'
import { booleanParameter, type Query } from '../request-info.ts'
import { baseHeaders } from '../respond.ts'

const booleans = ['follow', 'previous', 'timestamps']
const integers = ['sinceSeconds', 'tailLines', 'limitBytes']

/** The kubelet has the log; the server only passes it on, as it comes. */
export async function podLog(api: ApiContext, { exchange, definition, target }: ResourceExchange): Promise<void> {
  const { info, user, response, request } = exchange
  const { namespace = '', name = '' } = target
  const options = readOptions(info.query, name)
  api.registry.get({ definition, namespace, name, user })
  const pod = api.registry.lookup(definition, namespace, name) as unknown as Pod
  const container = chooseContainer(pod, info.query.get('container') ?? '')
  const { nodeName } = pod.spec
  if (!nodeName) {
    response.writeHead(204, baseHeaders()).end()
    return
  }
  const node = api.registry.lookup({ group: '', plural: 'nodes' }, undefined, nodeName) as unknown as Node | undefined
  if (!node) throw notFound(definition, nodeName)
  await api.kubelet.pass(node, {
    path: `/containerLogs/${namespace}/${name}/${container}?${options}`,
    request,
    response,
    onClose: (callback) => exchange.onClose(callback),
  })
}

function readOptions(query: Query, name: string): URLSearchParams {
  const errors: FieldErrors = []
  const options = new URLSearchParams()
  for (const option of booleans) if (booleanParameter(query, option)) options.set(option, 'true')
  for (const option of integers) {
    const value = integer(query, option)
    if (value === undefined) continue
    const least = option === 'tailLines' ? 0 : 1
    if (value < least) {
      const detail = least === 0 ? 'must be greater than or equal to 0' : 'must be greater than 0'
      errors.push(invalid(option, value, detail))
    }
    options.set(option, String(value))
  }
  const sinceTime = query.get('sinceTime')
  if (sinceTime) options.set('sinceTime', sinceTime)
  if (sinceTime && options.has('sinceSeconds')) {
    const detail = 'at most one of `sinceTime` or `sinceSeconds` may be specified'
    errors.push({ type: 'FieldValueForbidden', field: '[]', detail })
  }
  if (errors.length > 0) throw invalidObject({ group: '', kind: 'PodLogOptions' }, name, errors)
  return options
}

function chooseContainer({ metadata, spec }: Pod, asked: string): string {
  const containers = [
    ...(spec.initContainers ?? []),
    ...spec.containers,
    ...((spec.ephemeralContainers ?? []) as { name: string }[]),
  ].map(({ name }) => name)
  if (asked !== '') {
    if (containers.includes(asked)) return asked
    throw badRequest(`container ${asked} is not valid for pod ${metadata.name}`)
  }
  const annotated = metadata.annotations?.['kubectl.kubernetes.io/default-container']
  if (containers.length === 1) return containers[0]!
  if (annotated !== undefined && containers.includes(annotated)) return annotated
  const shown = containers.length > 0 ? `, choose one of: [${containers.join(' ')}]` : ''
  throw badRequest(`a container name must be specified for pod ${metadata.name}${shown}`)
}
