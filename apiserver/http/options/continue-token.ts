import { badRequest } from '../../../shared/api/status/status-errors.ts'
import { scanJson } from '../../validation/json-scanner.ts'

/** Says where the next page of a list begins. The token is opaque to clients, and has upstream's own form. */
export interface ContinueToken {
  /** The revision that all pages show; -1: whatever is there now. */
  revision: number
  /** Holds the first key of the next page, relative to the list's prefix. */
  start: string
}

const version = 'meta.k8s.io/v1'

export const encodeContinue = ({ revision, start }: ContinueToken): string =>
  Buffer.from(JSON.stringify({ v: version, rv: revision, start })).toString('base64url')

export function decodeContinue(token: string): ContinueToken {
  const illegal = token.search(/[^A-Za-z0-9_-]/)
  if (illegal !== -1) throw refused(`illegal base64 data at input byte ${illegal}`)
  // A character alone at the end holds no byte.
  if (token.length % 4 === 1) throw refused(`illegal base64 data at input byte ${token.length - 1}`)
  const text = Buffer.from(token, 'base64url').toString('utf8')
  let parsed: { v?: unknown; rv?: unknown; start?: unknown } | null
  try {
    parsed = JSON.parse(text) as typeof parsed
  } catch {
    throw refused(firstByteError(token) ?? scanJson(text).error ?? 'unexpected end of JSON input')
  }
  const { v = '', rv = 0, start = '' } = parsed ?? {}
  if (v !== version) throw refused(`server does not recognize this encoded version ${v}`)
  if (rv === 0) throw refused(`incorrect encoded start resourceVersion (version ${version})`)
  if (typeof rv !== 'number' || typeof start !== 'string' || start === '') {
    throw refused(`encoded start key empty (version ${version})`)
  }
  // A start that climbs out of the prefix was not made here.
  if (start.split('/').some((segment) => segment === '..' || segment === '.')) throw refused(start)
  return { revision: rv, start }
}

/** Says what Go says of a byte that begins no JSON and no text. */
function firstByteError(token: string): string | undefined {
  const [byte = 0] = Buffer.from(token, 'base64url')
  if (byte < 0x80 || byte > 0x9f) return undefined
  return `invalid character '\\u00${byte.toString(16)}' looking for beginning of value`
}

const refused = (why: string) => badRequest(`invalid continue token: continue key is not valid: ${why}`)
