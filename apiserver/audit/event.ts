import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isIP, type Socket } from 'node:net'
import { toMicroTime } from '../../shared/clock/timestamp.ts'
import type { Attributes, Decision, RequestedResource } from '../auth/types.ts'
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
  /** The request may last for as long as its client wants. */
  isLongRunning: boolean
  auditor: Auditor
}

interface Auditor {
  /** Returns milliseconds since the Unix epoch. */
  nowMs(): number
  /** Asks for a line a little later. */
  write(line: () => string): void
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
  readonly #client: Client
  readonly #received: string
  readonly #id: string
  /** Holds members of an object, as JSON. */
  #annotations: string[] | undefined
  #named: Named | undefined
  #impersonated: User | undefined
  #status: Status | undefined
  #requestObject: string | undefined
  #responseObject: string | undefined
  #hasStarted = false
  #isOver = false

  constructor(parts: EventParts) {
    const { headers } = parts.request
    this.#parts = parts
    this.#client = clientOf(parts.request, parts.asker)
    this.#received = this.#now()
    // The answer has the same ID.
    const given = headers['audit-id']
    this.#id = given === undefined ? randomUUID() : escaped(String(given))
    if (given === undefined) headers['audit-id'] = this.#id
    if (parts.asker) this.#write('RequestReceived', this.#received)
  }

  /** This is true if the request may last for as long as its client wants. */
  get isLongRunning(): boolean {
    return this.#parts.isLongRunning
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

  /** Returns a function that writes an annotation, unless its key has a value. */
  get annotate(): (key: string, value: string, level?: 'Request') => void {
    return (key, value, level) => {
      if (level && !this.wantsRequest) return
      const member = `${JSON.stringify(key)}:`
      this.#annotations ??= []
      if (!this.#annotations.some((one) => one.startsWith(member)))
        this.#annotations.push(member + JSON.stringify(value))
    }
  }

  /** Takes in what authorization has decided. */
  decided({ verdict, reason = '' }: Decision): void {
    const decision = verdict === 'allow' ? 'allow' : 'forbid'
    this.#annotations = [
      `"authorization.k8s.io/decision":"${decision}","authorization.k8s.io/reason":"${reason && escaped(reason)}"`,
    ]
  }

  /** Takes in the object of a request, decoded and with its defaults. `type`: its kind and version. */
  requested(type: { kind: string; apiVersion: string }, object: object): void {
    const { name, namespace, uid, resourceVersion } = (object as { metadata?: Named }).metadata ?? {}
    this.#named ??= { name, namespace, uid, resourceVersion }
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
    this.#status = { code }
    const isStatus = beginsAsStatus(json)
    if (!isStatus && !(this.wantsResponse && this.#parts.attributes.resource)) return
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

  /** The handler is done, or the request was refused. */
  served(code: number): void {
    if (!this.isLongRunning) this.completed(code)
  }

  /** The answer is complete, or its client has gone. */
  completed(code: number): void {
    if (this.#isOver) return
    this.#isOver = true
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

  #now(): string {
    return toMicroTime(this.#parts.auditor.nowMs())
  }

  #write(stage: Stage, time = this.#now()): void {
    const { verdict, auditor } = this.#parts
    if (verdict.omitStages.includes(stage)) return
    // What comes to be known later does not belong into the lines of earlier stages.
    const line = stage === 'ResponseComplete' ? undefined : this.#line(stage, time)
    auditor.write(() => line ?? this.#line(stage, time))
  }

  #line(stage: Stage, time: string): string {
    const { verdict, uri, attributes, apiVersion } = this.#parts
    const { verb, resource } = attributes
    const { user, client } = this.#client
    const shown = isPlain(uri) ? asIs : escaped
    const shownVerb = !resource ? escaped(verb) : verbs.has(verb) ? verb : ''
    let line = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"${verdict.level}","auditID":"${this.#id}","stage":"${stage}","requestURI":"${shown(uri)}","verb":"${shownVerb}","user":${user}`
    if (this.#impersonated) line += `,"impersonatedUser":${userInfo(this.#impersonated)}`
    line += client
    if (resource) line += referenceJson(resource, { apiVersion, shown, named: this.#named })
    if (this.#status) line += statusJson(this.#status)
    if (this.#requestObject !== undefined) line += `,"requestObject":${this.#requestObject}`
    if (this.#responseObject !== undefined) line += `,"responseObject":${this.#responseObject}`
    line += `,"requestReceivedTimestamp":"${this.#received}","stageTimestamp":"${time}"`
    if (this.#annotations) line += annotationsJson(this.#annotations)
    return `${line}}\n`
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

/** Holds what an object of a request says about itself. */
interface Named {
  name?: string
  namespace?: string
  uid?: string
  resourceVersion?: string
}

interface Reference {
  apiVersion: string
  /** Shows what the path says. */
  shown(text: string): string
  named: Named | undefined
}

/** Returns the member `objectRef`. What the path does not say is taken from the object. */
function referenceJson(asked: RequestedResource, { apiVersion, shown, named }: Reference): string {
  const { resource, group, namespace, name, subresource } = asked
  let json = `,"objectRef":{"resource":"${shown(resource)}"`
  if (namespace) json += `,"namespace":"${shown(namespace)}"`
  else if (named?.namespace) json += `,"namespace":"${escaped(named.namespace)}"`
  if (name) json += `,"name":"${shown(name)}"`
  else if (named?.name) json += `,"name":"${escaped(named.name)}"`
  if (named?.uid) json += `,"uid":"${escaped(named.uid)}"`
  if (group) json += `,"apiGroup":"${shown(group)}"`
  json += `,"apiVersion":"${shown(apiVersion)}"`
  if (named?.resourceVersion) json += `,"resourceVersion":"${escaped(named.resourceVersion)}"`
  return subresource ? `${json},"subresource":"${shown(subresource)}"}` : `${json}}`
}

/** Returns the member `annotations`. Go sorts the keys of a map. */
const annotationsJson = (members: string[]): string =>
  `,"annotations":{${members.length === 1 ? members[0] : members.sort().join(',')}}`

const plain = /^[!#$&-[\]-~]*$/
/** Says whether neither a URI nor any name in it needs an escape in JSON: an encoded character may. */
const isPlain = (uri: string): boolean => plain.test(uri)
const asIs = (text: string): string => text
/** Returns the text as in JSON, without quotes. */
const escaped = (text: string): string => JSON.stringify(text).slice(1, -1)

/** Returns the member `responseStatus`. Most answers have a code alone. */
const statusJson = (status: Status): string =>
  status.status === undefined
    ? `,"responseStatus":{"metadata":{},"code":${status.code}}`
    : `,"responseStatus":${JSON.stringify({ metadata: {}, ...status })}`

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

const statusBegins = '{"kind":"Status"'
const atLetter = statusBegins.indexOf('S')

/** Most kinds have another first letter: their texts and bytes are not cut. */
function beginsAsStatus(json: string | readonly string[] | Buffer): boolean {
  if (Buffer.isBuffer(json))
    return json[atLetter] === 0x53 && json.toString('latin1', 0, statusBegins.length) === statusBegins
  return (typeof json === 'string' ? json : (json[0] ?? '')).startsWith(statusBegins)
}

/** Returns a user as JSON. What is empty is left out, as Go does. */
const userInfo = ({ name, uid, groups, extra }: User): string =>
  JSON.stringify({
    username: name || undefined,
    uid: uid || undefined,
    groups: groups.length > 0 ? groups : undefined,
    extra: extra && Object.keys(extra).length > 0 ? extra : undefined,
  })

/** Holds what a connection's last request said of its client: the next one most likely says the same. */
interface Client {
  asker: User | undefined
  agent: string | undefined
  /** The user, as JSON. */
  user: string
  /** The members `sourceIPs` and `userAgent`. */
  client: string
}

const clients = new WeakMap<Socket, Client>()

function clientOf({ headers, socket }: IncomingMessage, asker: User | undefined): Client {
  const { 'user-agent': agent, 'x-forwarded-for': forwardedFor, 'x-real-ip': realIp } = headers
  const isForwarded = forwardedFor !== undefined || realIp !== undefined
  const last = clients.get(socket)
  if (last && last.asker === asker && last.agent === agent && !isForwarded) return last
  const user = asker ? userInfo(asker) : '{}'
  let client = `,"sourceIPs":${JSON.stringify(sourceIPs({ headers, socket }))}`
  if (agent) client += `,"userAgent":${JSON.stringify(shortened(agent))}`
  const made = { asker, agent, user, client }
  if (!isForwarded) clients.set(socket, made)
  return made
}

const shortened = (agent: string): string =>
  agent.length > maxUserAgent ? `${agent.slice(0, maxUserAgent)}...TRUNCATED` : agent

/** Upstream: apimachinery's net.SourceIPs. */
function sourceIPs({ headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>): string[] {
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
