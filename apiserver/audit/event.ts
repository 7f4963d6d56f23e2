import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isIP, type Socket } from 'node:net'
import { toMicroTime } from '../../shared/clock/timestamp.ts'
import type { Attributes } from '../auth/types.ts'
import type { User } from '../kind/user.ts'
import type { Stage, Verdict } from './policy.ts'

interface EventParts {
  request: IncomingMessage
  /** Holds the path and query as the client sent them. */
  uri: string
  /** Names the user that has authenticated; undefined if none has. */
  asker: User | undefined
  attributes: Attributes
  apiVersion: string
  verdict: Verdict
  /** Returns milliseconds since the Unix epoch. */
  nowMs(): number
  write(line: string): void
}

interface Status {
  status?: string
  message?: string
  reason?: string
  details?: object
  code?: number
}

/** Requests for resources have no other verbs. */
const verbs = new Set(['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'])
const maxUserAgent = 1024

/** Writes the audit events of one request. Upstream: apiserver/pkg/audit. */
export class AuditedRequest {
  readonly #parts: EventParts
  readonly #received: string
  readonly #id: string
  readonly #annotations: Record<string, string> = {}
  readonly #objectRef: ObjectReference | undefined
  #impersonated: User | undefined
  #status: Status | undefined
  #requestObject: string | undefined
  #responseObject: string | undefined
  #hasStarted = false
  #isAnnotated = false

  constructor(parts: EventParts) {
    const { request, attributes, apiVersion, nowMs } = parts
    this.#parts = parts
    this.#received = toMicroTime(nowMs())
    // The answer has the same ID.
    request.headers['audit-id'] ??= randomUUID()
    this.#id = String(request.headers['audit-id'])
    const { resource } = attributes
    this.#objectRef = resource && {
      resource: resource.resource,
      namespace: resource.namespace || undefined,
      name: resource.name || undefined,
      uid: undefined,
      apiGroup: resource.group || undefined,
      apiVersion,
      resourceVersion: undefined,
      subresource: resource.subresource || undefined,
    }
    if (parts.asker) this.#write('RequestReceived', this.#received)
  }

  /** This is true if bodies of requests belong into the log. */
  get wantsRequest(): boolean {
    return this.#parts.verdict.level.startsWith('Request')
  }

  /** This is true if bodies of answers belong into the log. */
  get wantsResponse(): boolean {
    return this.#parts.verdict.level === 'RequestResponse'
  }

  impersonates(user: User): void {
    this.#impersonated = user
  }

  /** Writes an annotation, unless its key has a value. */
  readonly annotate = (key: string, value: string): void => {
    this.#annotations[key] ??= value
    this.#isAnnotated = true
  }

  /** Takes in the object of a request, decoded and with its defaults. `type`: its kind and version. */
  requested(type: { kind: string; apiVersion: string }, object: { metadata?: object }): void {
    const { name, namespace, uid, resourceVersion } = (object.metadata ?? {}) as Record<string, string | undefined>
    const reference = this.#objectRef
    if (reference) {
      reference.name ||= name || undefined
      reference.namespace ||= namespace || undefined
      reference.uid ||= uid || undefined
      reference.resourceVersion ||= resourceVersion || undefined
    }
    if (this.wantsRequest && this.#requestObject === undefined)
      this.#requestObject = this.#shown(JSON.stringify({ ...type, ...object }))
  }

  /** Takes in a patch, which is JSON, or YAML of an apply. */
  patched(text: string): void {
    if (!this.wantsRequest) return
    this.#requestObject = isJson(text) ? text.replaceAll('\n', ' ') : JSON.stringify(text)
  }

  /** Takes in the JSON of an answer. */
  answered(code: number, json: string | readonly string[] | Buffer): void {
    const isStatus = beginning(json).startsWith('{"kind":"Status"')
    if (!isStatus && !(this.wantsResponse && this.#objectRef)) return
    const text = typeof json === 'string' || Buffer.isBuffer(json) ? String(json) : json.join('')
    if (isStatus) {
      const { status, message, reason, details } = JSON.parse(text) as Status
      this.#status = { status, message, reason, details, code }
    }
    if (this.wantsResponse) this.#responseObject = this.#shown(text)
  }

  /** The answer of a request that lasts begins. */
  started(code: number): void {
    if (this.#hasStarted) return
    this.#hasStarted = true
    this.#status ??= { code }
    this.#write('ResponseStarted')
  }

  /** The answer is complete, or its client has gone. */
  completed(code: number): void {
    this.#status ??= { code }
    this.#write('ResponseComplete')
  }

  /** The client's credentials are bad: its request ends here. */
  refused(): void {
    this.#status = { status: 'Failure', message: 'Unauthorized', reason: 'Unauthorized', code: 401 }
    if (this.wantsResponse)
      this.#responseObject = JSON.stringify({ kind: 'Status', apiVersion: 'v1', metadata: {}, ...this.#status })
    this.#write('ResponseStarted')
  }

  #write(stage: Stage, time = toMicroTime(this.#parts.nowMs())): void {
    const { verdict, uri, asker, attributes, request, write } = this.#parts
    if (verdict.omits(stage)) return
    const agent = String(request.headers['user-agent'] ?? '')
    const shownAgent = agent.length > maxUserAgent ? `${agent.slice(0, maxUserAgent)}...TRUNCATED` : agent
    const verb = attributes.resource && !verbs.has(attributes.verb) ? '' : attributes.verb
    let line = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"${verdict.level}"`
    line += `,"auditID":${quoted(this.#id)},"stage":"${stage}","requestURI":${quoted(uri)}`
    line += `,"verb":${quoted(verb)},"user":${asker ? userInfo(asker) : '{}'}`
    if (this.#impersonated) line += `,"impersonatedUser":${userInfo(this.#impersonated)}`
    line += `,"sourceIPs":${sourceIPs(request)}`
    if (shownAgent) line += `,"userAgent":${quoted(shownAgent)}`
    if (this.#objectRef) line += `,"objectRef":${referenceJson(this.#objectRef)}`
    if (this.#status) line += `,"responseStatus":${statusJson(this.#status)}`
    if (this.#requestObject !== undefined) line += `,"requestObject":${this.#requestObject}`
    if (this.#responseObject !== undefined) line += `,"responseObject":${this.#responseObject}`
    line += `,"requestReceivedTimestamp":"${this.#received}","stageTimestamp":"${time}"`
    if (this.#isAnnotated) line += `,"annotations":${JSON.stringify(this.#annotations)}`
    write(`${line}}\n`)
  }

  /** Leaves out what the policy does not want, and line breaks, which would end the line. */
  #shown(json: string): string {
    if (!this.#parts.verdict.omitManagedFields) return json.replaceAll('\n', ' ')
    const object = JSON.parse(json) as Listed
    for (const one of [object, ...(object.items ?? []), ...(object.rows ?? []).map((row) => row.object ?? {})])
      delete one.metadata?.managedFields
    return JSON.stringify(object)
  }
}

interface ObjectReference {
  resource: string
  namespace: string | undefined
  name: string | undefined
  uid: string | undefined
  apiGroup: string | undefined
  apiVersion: string
  resourceVersion: string | undefined
  subresource: string | undefined
}

function referenceJson(reference: ObjectReference): string {
  const { resource, namespace, name, uid, apiGroup, apiVersion, resourceVersion, subresource } = reference
  let json = `{"resource":${quoted(resource)}`
  if (namespace) json += `,"namespace":${quoted(namespace)}`
  if (name) json += `,"name":${quoted(name)}`
  if (uid) json += `,"uid":${quoted(uid)}`
  if (apiGroup) json += `,"apiGroup":${quoted(apiGroup)}`
  json += `,"apiVersion":${quoted(apiVersion)}`
  if (resourceVersion) json += `,"resourceVersion":${quoted(resourceVersion)}`
  if (subresource) json += `,"subresource":${quoted(subresource)}`
  return `${json}}`
}

/** Printable ASCII without the characters that JSON escapes. */
const plain = /^[ !#-[\]-~]*$/
/** Returns the text as JSON. Most texts need no escapes; JSON.stringify takes twice as long to find that. */
const quoted = (text: string): string => (plain.test(text) ? `"${text}"` : JSON.stringify(text))

/** Most answers have a code alone. */
const statusJson = (status: Status): string =>
  status.status === undefined ? `{"metadata":{},"code":${status.code}}` : JSON.stringify({ metadata: {}, ...status })

interface Managed {
  metadata?: { managedFields?: unknown }
}
interface Listed extends Managed {
  items?: Managed[] | null
  rows?: { object?: Managed }[] | null
}

function isJson(text: string): boolean {
  try {
    return JSON.parse(text) !== undefined
  } catch {
    return false
  }
}

const beginning = (json: string | readonly string[] | Buffer): string =>
  (Buffer.isBuffer(json) ? json.subarray(0, 20).toString() : typeof json === 'string' ? json : (json[0] ?? '')).slice(
    0,
    20,
  )

/** Holds the JSON of users, as long as they are there: a connection asks as the same one again and again. */
const known = new WeakMap<User, string>()

/** Returns a user as JSON. What is empty is left out, as Go does. */
function userInfo(user: User): string {
  let json = known.get(user)
  if (json === undefined) {
    const { name, uid, groups, extra } = user
    json = JSON.stringify({
      username: name || undefined,
      uid: uid || undefined,
      groups: groups.length > 0 ? groups : undefined,
      extra: extra && Object.keys(extra).length > 0 ? extra : undefined,
    })
    known.set(user, json)
  }
  return json
}

/** Holds the JSON of addresses, as long as their connections are there. */
const addresses = new WeakMap<Socket, string>()

/** Returns the client's address, as JSON, behind those that it says it comes from. */
function sourceIPs({ headers, socket }: IncomingMessage): string {
  const { 'x-forwarded-for': forwardedFor, 'x-real-ip': realIp } = headers
  if (forwardedFor !== undefined || realIp !== undefined) return JSON.stringify(namedIPs({ headers, socket }))
  let json = addresses.get(socket)
  if (json === undefined) {
    json = JSON.stringify(namedIPs({ headers, socket }))
    addresses.set(socket, json)
  }
  return json
}

/** Upstream: apimachinery's net.SourceIPs. */
function namedIPs({ headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>): string[] {
  const remote = (socket.remoteAddress ?? '').replace(/^::ffff:/, '')
  const { 'x-forwarded-for': forwardedFor, 'x-real-ip': realIp } = headers
  const named = String(forwardedFor ?? '')
    .split(',')
    .map((one) => one.trim())
    .filter((one) => isIP(one) !== 0)
  const real = String(realIp ?? '').trim()
  if (isIP(real) !== 0 && !named.includes(real)) named.push(real)
  if (remote && named.at(-1) !== remote) named.push(remote)
  return named
}
