import { randomUUID } from 'node:crypto'
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Gzip } from 'node:zlib'
import { parseStored, toJson } from '../../shared/api/exact-json.ts'
import type { StatusError } from '../../shared/api/status-error.ts'
import { dumpOptions } from '../../shared/api/yaml-schema.ts'
import type { JsonMap } from '../patch/structured-merge/values.ts'
import { encodeProtobuf } from '../protobuf/encode.ts'
import { type Negotiated, notInProtobuf } from './negotiation.ts'
import type { Warnings } from './warnings.ts'

/** Answers from here on are compressed for those who ask. */
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

interface Asked {
  request: IncomingMessage
  response: ServerResponse
  warnings?: Warnings
}

const jsonOnly: Negotiated = { encoding: 'json' }

/** Sends JSON, or what the client wants instead of it. */
export function sendJson(
  { request, response, warnings }: Asked,
  { status, json, headers }: Answer,
  { encoding }: Negotiated = jsonOnly,
): void {
  const all = baseHeaders(request)
  all['content-type'] = contentTypes[encoding]
  if (headers) Object.assign(all, headers)
  const warning = warnings?.header()
  if (warning) Object.assign(all, { warning })
  if (encoding === 'json' && !wantsPretty(request)) {
    const parts = Buffer.isBuffer(json) ? [json, '\n'] : lineOf(json)
    send({ request, response }, { status, parts, headers: all })
    return
  }
  const whole = Array.isArray(json) ? json.join('') : String(json)
  if (encoding === 'yaml') {
    toYaml(whole).then(
      (text) => send({ request, response }, { status, parts: [text], headers: all }),
      () => response.destroy(),
    )
  } else {
    const part = encoding === 'protobuf' ? toProtobuf(whole) : indented(whole)
    send({ request, response }, { status, parts: [part], headers: all })
  }
}

/** Short parts cost more to write than to join. */
const maxJoined = 1024

/** With a newline at the end. */
function lineOf(json: string | readonly string[]): string[] {
  if (typeof json === 'string') return [`${json}\n`]
  const pieces = ['']
  for (const part of [...json, '\n']) {
    const last = pieces.length - 1
    if (pieces[last]!.length + part.length <= maxJoined) pieces[last] += part
    else pieces.push(part)
  }
  return pieces
}

interface Body {
  status: number
  parts: readonly (string | Buffer)[]
  headers: OutgoingHttpHeaders
}

function send(
  { request, response }: { request: IncomingMessage; response: ServerResponse },
  { status, parts, headers }: Body,
): void {
  let bytes = 0
  for (const part of parts) bytes += Buffer.byteLength(part)
  if (bytes >= gzipThreshold && acceptsGzip(request)) {
    sendCompressed(response, { status, parts, headers })
    return
  }
  headers['content-length'] = bytes
  response.writeHead(status, headers)
  if (request.method !== 'HEAD') for (const part of parts) response.write(part)
  response.end()
}

export const acceptsGzip = ({ headers }: IncomingMessage): boolean =>
  headers['accept-encoding'] !== undefined && /\bgzip\b/.test(String(headers['accept-encoding']))

/** Answers are for this machine or the next: what compresses more takes longer than to send it. */
export function fastGzip(): Gzip {
  const { constants, createGzip } = process.getBuiltinModule('node:zlib') // loaded with the first large answer
  return createGzip({ level: constants.Z_BEST_SPEED })
}

function sendCompressed(response: ServerResponse, { status, parts, headers }: Body): void {
  response.writeHead(status, { ...headers, 'content-encoding': 'gzip', vary: 'Accept-Encoding' })
  const gzip = fastGzip()
  gzip.pipe(response)
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

/** For people. */
const indented = (json: string): string => toJson(parseStored(json), { indent: 2 })

export function sendText(
  { request, response }: { request: IncomingMessage; response: ServerResponse },
  status: number,
  text: string,
  headers: OutgoingHttpHeaders = {},
): void {
  response.writeHead(status, {
    ...baseHeaders(request),
    'content-type': 'text/plain; charset=utf-8',
    'x-content-type-options': 'nosniff',
    'content-length': Buffer.byteLength(text),
    ...headers,
  })
  response.end(request.method === 'HEAD' ? undefined : text)
}

/** An answer without a body, and so without a type. */
export function sendNothing({ response }: { response: ServerResponse }, status: number): void {
  response.writeHead(status, { ...baseHeaders(), 'content-length': 0 }).end()
}

export function sendStatusError(
  exchange: Asked,
  { status, headers, code }: StatusError,
  negotiated?: Negotiated,
): void {
  sendJson(exchange, { status: code, json: JSON.stringify(status), headers }, negotiated)
}
