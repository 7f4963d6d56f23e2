import type { IncomingHttpHeaders } from 'node:http'
import type { HeaderDecoder } from '../hpack/header-decoder.ts'
import { fieldOverhead, type HeaderField } from '../hpack/header-tables.ts'
import { connectionFields } from '../protocol.ts'

export interface RequestHead {
  method: string
  path: string
  /** Without pseudo-headers, but with :authority as `host`. */
  headers: IncomingHttpHeaders
  /** -1: not said. */
  contentLength: number
}

export type DecodedHead = RequestHead | { problem: string } | 'too large'

/** The sum of all fields, as the client is told in SETTINGS. */
export const maxHeaderListBytes = 64 * 1024

const fieldName = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/
const forbiddenInValue = /[\0\r\n]/
/** The first value of these fields counts; the values of others are joined. */
const single = new Set(['authorization', 'content-length', 'content-type', 'host', 'user-agent'])

/**
 * Reads a whole block, which must be done whatever becomes of the request; tells what is malformed about it (RFC 9113,
 * 8.3).
 */
export function decodeRequestHead(decoder: HeaderDecoder, block: Buffer): DecodedHead {
  const headers: Record<string, string> = {}
  const pseudo: (string | undefined)[] = [undefined, undefined, undefined, undefined]
  let regularSeen = false
  let problem: string | undefined
  let bytes = 0
  const onField = ({ name, value }: HeaderField): void => {
    bytes += name.length + value.length + fieldOverhead
    if (problem !== undefined || bytes > maxHeaderListBytes) return
    if (name.charCodeAt(0) === colon) {
      const at = requestPseudo.indexOf(name)
      if (regularSeen || at === -1 || pseudo[at] !== undefined) problem = `${name} is out of place`
      else pseudo[at] = value
    } else {
      regularSeen = true
      problem = fieldProblem(name, value)
      addField(headers, name, value)
    }
  }
  decoder.decode(block, onField)
  if (bytes > maxHeaderListBytes) return 'too large'
  const [method, scheme, path, authority] = pseudo
  if (problem !== undefined) return { problem }
  if (!method) return { problem: ':method is missing' }
  if (!scheme) return { problem: ':scheme is missing' }
  if (!path) return { problem: ':path is missing' }
  if (authority) headers.host = authority
  const { 'content-length': length } = headers
  if (length !== undefined && !/^\d{1,15}$/.test(length)) return { problem: 'content-length is no number' }
  return {
    method,
    path,
    headers,
    contentLength: length === undefined ? -1 : Number(length),
  }
}

/** Trailers are not used, but they are decoded and checked. */
export function trailersProblem(decoder: HeaderDecoder, block: Buffer): string | undefined {
  let problem: string | undefined
  let bytes = 0
  decoder.decode(block, ({ name, value }) => {
    bytes += name.length + value.length + fieldOverhead
    if (problem === undefined && bytes > maxHeaderListBytes) problem = 'trailers are larger than a head may be'
    problem ??= name.charCodeAt(0) === colon ? `${name} in trailers` : fieldProblem(name, value)
  })
  return problem
}

const colon = ':'.charCodeAt(0)
const requestPseudo = [':method', ':scheme', ':path', ':authority']

function fieldProblem(name: string, value: string): string | undefined {
  if (!fieldName.test(name)) return 'the name of a field has a character it must not have'
  if (connectionFields.has(name)) return `${name} belongs to HTTP/1.1`
  if (name === 'te' && value !== 'trailers') return 'te is not trailers'
  return forbiddenInValue.test(value) ? `${name} has a character it must not have` : undefined
}

function addField(headers: Record<string, string>, name: string, value: string): void {
  const known = Object.hasOwn(headers, name) ? headers[name] : undefined
  if (known === undefined) headers[name] = value
  else if (!single.has(name)) headers[name] = `${known}${name === 'cookie' ? '; ' : ', '}${value}`
}
