import type { StatusError } from '../../../shared/api/status/status-error.ts'
import { badRequest, notAcceptable, plainError } from '../../../shared/api/status/status-errors.ts'
import type { Pod } from '../../../shared/api/types.ts'
import { canonicalTime } from '../../../shared/clock/go-time.ts'
import { forbidden, invalid, invalidObject } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import type { ApiContext } from '../api-context.ts'
import { negotiateText, type Transform } from '../encode/negotiation.ts'
import { sendNothing } from '../encode/respond.ts'
import type { ResourceExchange } from '../exchange.ts'
import { integer } from '../options/list-options.ts'
import { booleanParameter, type Query } from '../request-info.ts'
import { asksForWebSocket } from '../streams/accept-websocket.ts'
import { streamOverWebSocket, streamProtocol } from '../streams/websocket-stream.ts'
import { chooseContainer, nodeOf } from './pod-target.ts'

const booleans = ['follow', 'previous', 'timestamps']
const integers = ['tailLines', 'limitBytes', 'sinceSeconds']

/** The kubelet has the log; the server only passes it on, as it comes. */
export async function podLog(api: ApiContext, { exchange, definition, target }: ResourceExchange): Promise<void> {
  const { info, user } = exchange
  const { namespace = '', name = '' } = target
  const { transform } = negotiateText(exchange.request.headers.accept)
  const options = readOptions(info.query, name)
  api.registry.get({ definition, namespace, name, user })
  const pod = api.registry.lookup(definition, namespace, name) as unknown as Pod
  const container = chooseContainer(pod, info.query.get('container') ?? '')
  const node = pod.spec.nodeName ? nodeOf(api, pod) : undefined
  if (transform) throw noObject(transform.kind)
  if (!node) return sendNothing(exchange, 204)
  const path = `/containerLogs/${namespace}/${name}/${container}${options.size > 0 ? `?${options}` : ''}`
  const { upgrade } = exchange
  if (!upgrade || !asksForWebSocket(exchange)) {
    return api.kubelet.pass(node, path, exchange)
  }
  const protocol = streamProtocol(exchange)
  const source = await api.kubelet.read(node, { path, onClose: (callback) => upgrade.socket.once('close', callback) })
  await streamOverWebSocket(exchange, upgrade, { source, protocol })
}

const noObject = (form: Transform['kind']): StatusError =>
  form === 'PartialObjectMetadata'
    ? plainError('object does not implement the Object interfaces')
    : notAcceptable(`you requested ${form}, but the requested object is not a list (*rest.LocationStreamer)`)

function readSinceTime(query: Query): string | undefined {
  const text = query.get('sinceTime')
  if (!text) return undefined
  try {
    canonicalTime(text)
    return text
  } catch (error) {
    throw badRequest((error as Error).message)
  }
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
  const sinceTime = readSinceTime(query)
  if (sinceTime) options.set('sinceTime', sinceTime)
  if (sinceTime && options.has('sinceSeconds')) {
    const isWrong = errors.findIndex(({ field }) => field === 'sinceSeconds')
    if (isWrong !== -1) errors.splice(isWrong, 1)
    errors.push(forbidden('[]', 'at most one of `sinceTime` or `sinceSeconds` may be specified'))
  }
  // The feature gate PodLogsQuerySplitStreams, which allows it, is off.
  if (query.has('stream')) errors.push(forbidden('stream', 'may not be specified'))
  if (errors.length > 0) throw invalidObject({ group: '', kind: 'PodLogOptions' }, name, errors)
  return options
}
