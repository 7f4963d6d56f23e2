import { randomUUID } from 'node:crypto'
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import type { Gzip } from 'node:zlib'
import type { FastifyReply } from 'fastify'
import { parseStored, toJson } from '../../../shared/api/json/exact-json.ts'
import { dumpOptions } from '../../../shared/api/json/yaml-schema.ts'
import { takeOver } from '../../../shared/http/take-over.ts'
import type { AuditedRequest } from '../../audit/event.ts'
import { encodeProtobuf } from '../../protobuf/encode.ts'
import type { JsonMap } from '../../values/json-map.ts'
import { type Negotiated, notInProtobuf } from './negotiation.ts'
import type { Warnings } from './warnings.ts'

/** Answers from here on are compressed for clients that accept it. */
export const gzipThreshold = 128 * 1024

export interface Answer {
  status: number
  /** JSON text, what it is joined from, or its bytes (which are shared, not copied), without a newline at the end. */
  json: string | readonly string[] | Buffer
  headers?: OutgoingHttpHeaders
}

/** A request may bring its own name. */
export function baseHeaders(request?: IncomingMessage): OutgoingHttpHeaders {
  return { 'audit-id': request?.headers['audit-id'] ?? randomUUID(), 'cache-control': 'no-cache, private' }
}

export const contentTypes = {
  json: 'application/json',
  yaml: 'application/yaml',
  protobuf: 'application/vnd.kubernetes.protobuf',
}

/** A request to answer: an exchange, or what there is before one. */
interface Asked {
  request: IncomingMessage
  reply: FastifyReply
  warnings?: Warnings
  audit?: Pick<AuditedRequest, 'answered'> | undefined
}

const jsonOnly: Negotiated = { encoding: 'json' }

/** Sends JSON, or what the client wants instead of it. */
export function sendJson(
  { request, reply, warnings, audit }: Asked,
  { status, json, headers }: Answer,
  { encoding, isIndented }: Negotiated = jsonOnly,
): void {
  audit?.answered(status, json)
  const all = baseHeaders(request)
  all['content-type'] = contentTypes[encoding]
  if (headers) Object.assign(all, headers)
  const warning = warnings?.header()
  if (warning) Object.assign(all, { warning })
  if (encoding === 'json' && !isIndented && !wantsPretty(request)) {
    const parts = Buffer.isBuffer(json) ? [json, '\n'] : lineOf(json)
    send({ request, reply }, { status, parts, headers: all })
    return
  }
  const whole = Array.isArray(json) ? json.join('') : String(json)
  if (encoding === 'yaml') {
    toYaml(whole).then(
      (text) => send({ request, reply }, { status, parts: [text], headers: all }),
      () => reply.raw.destroy(),
    )
  } else {
    const part = encoding === 'protobuf' ? toProtobuf(whole) : indented(whole)
    send({ request, reply }, { status, parts: [part], headers: all })
  }
}

/** Short parts cost more to write than to join. */
const maxJoined = 1024

const lineOf = (json: string | readonly string[]): string[] =>
  typeof json === 'string' ? [`${json}\n`] : longParts(json, '\n')

/** Returns the same text in fewer parts: short ones are joined with their neighbours. `end` follows the others. */
export function longParts(parts: readonly string[], end = ''): string[] {
  const long = ['']
  for (let index = 0; index <= parts.length; index++) {
    const part = parts[index] ?? end
    const last = long.length - 1
    if (long[last]!.length + part.length <= maxJoined) long[last] += part
    else long.push(part)
  }
  return long
}

interface Body {
  status: number
  parts: readonly (string | Buffer)[]
  headers: OutgoingHttpHeaders
}

/** Sends a body as it is or, if it is large and the client takes that, compressed. */
function send(asked: Asked, body: Body): void {
  const length = lengthOf(body)
  if (length >= gzipThreshold && acceptsGzip(asked.request)) sendCompressed(asked.reply, body)
  else sendAsIs(asked, body, length)
}

function lengthOf({ parts }: Body): number {
  let bytes = 0
  for (const part of parts) bytes += Buffer.byteLength(part)
  return bytes
}

/** The length in characters, which is that in bytes if all of them are ASCII. */
function charactersOf({ parts }: Body): number {
  let characters = 0
  for (const part of parts) characters += part.length
  return characters
}

/** Parts that are bytes are shared with other answers, and sent without a copy. */
export function sendAsIs({ request, reply }: Asked, body: Body, length = lengthOf(body)): void {
  const { status, parts, headers } = body
  headers['content-length'] = length
  if (request.method === 'HEAD') return void reply.code(status).headers(headers).send()
  // Not as text: Fastify would add a charset to its type.
  if (reply.isObserved)
    return void reply
      .code(status)
      .headers(headers)
      .send(Buffer.concat(parts.map(bytesOf)))
  const response = takeOver(reply)
  response.writeHead(status, headers)
  // A text with as many bytes as characters is written as latin1.
  const encoding = length === charactersOf(body) ? 'latin1' : 'utf8'
  for (const part of parts) response.write(part, encoding)
  response.end()
}

export const bytesOf = (part: string | Buffer): Buffer => (typeof part === 'string' ? Buffer.from(part) : part)

export const acceptsGzip = ({ headers }: IncomingMessage): boolean =>
  headers['accept-encoding'] !== undefined && /\bgzip\b/.test(String(headers['accept-encoding']))

/** Answers are for this machine or the next: what compresses more takes longer than to send it. */
export function fastGzip(): Gzip {
  const { constants, createGzip } = process.getBuiltinModule('node:zlib') // loaded with the first large answer
  return createGzip({ level: constants.Z_BEST_SPEED })
}

function sendCompressed(reply: FastifyReply, { status, parts, headers }: Body): void {
  const gzip = fastGzip()
  reply
    .code(status)
    .headers({ ...headers, 'content-encoding': 'gzip', vary: 'Accept-Encoding' })
    .send(gzip)
  for (const part of parts) gzip.write(part)
  gzip.end()
}

/** The parser is loaded by the few who want YAML. */
async function toYaml(json: string): Promise<string> {
  const yaml = await import('js-yaml')
  return yaml.dump(parseStored(json), dumpOptions(yaml))
}

function toProtobuf(json: string): Buffer {
  const object = parseStored(json) as JsonMap
  const encoded = encodeProtobuf(object)
  if (encoded) return encoded
  if (object.kind === 'Table') throw notInProtobuf('*v1.Table')
  throw notInProtobuf(`*unstructured.Unstructured${Array.isArray(object.items) ? 'List' : ''}`)
}

const prettyAgents = /^(curl|Wget|Mozilla\/5\.0)/

export function wantsPretty({ url = '', headers }: IncomingMessage): boolean {
  const mark = url.includes('pretty=') ? url.indexOf('?') : -1
  const asked = mark === -1 ? null : new URLSearchParams(url.slice(mark + 1)).get('pretty')
  if (asked !== null) return asked !== '0' && asked !== 'false'
  const agent = headers['user-agent']
  return agent !== undefined && prettyAgents.test(agent)
}

const indented = (json: string): string => toJson(parseStored(json), { indent: 2 })

export function sendText(
  { request, reply }: Asked,
  status: number,
  text: string,
  headers: OutgoingHttpHeaders = {},
): void {
  reply.code(status).headers({
    ...baseHeaders(request),
    'content-type': 'text/plain; charset=utf-8',
    'x-content-type-options': 'nosniff',
    'content-length': Buffer.byteLength(text),
    ...headers,
  })
  reply.send(request.method === 'HEAD' ? undefined : text)
}

/** Sends an answer without a body. `headers` are all the headers that the answer has. */
export function sendNothing({ reply }: Asked, status: number, headers: OutgoingHttpHeaders = baseHeaders()): void {
  reply.code(status).headers(headers).send()
}

/** Sends the JSON of an error without calling the `onSend` hooks: one of them has failed and would fail again. */
export function sendWithoutHooks(
  { request, reply }: Asked,
  { status, json, headers }: Answer & { json: string },
): void {
  const response = takeOver(reply)
  response.writeHead(status, { ...baseHeaders(request), 'content-type': contentTypes.json, ...headers })
  response.end(request.method === 'HEAD' ? undefined : `${json}\n`)
}
