/** Checks a write's body before it is decoded: it must be JSON, and of the kind that the endpoint takes. */

import { knownGroupVersions } from '../../openapi/options.ts'
import { hasStructType, structType } from '../../openapi/types.ts'
import { apiVersionOf } from '../../shared/api/api-version.ts'
import { parseExact, parseFractions, toJson } from '../../shared/api/json/exact-json.ts'
import type { StatusError } from '../../shared/api/status/status-error.ts'
import { badRequest } from '../../shared/api/status/status-errors.ts'
import { defaultWorkLimits } from '../work-limits.ts'
import { checkJsonValues } from './body-values.ts'
import { type Decodable, type Decoded, DecodeError, decodeObject } from './decoder.ts'
import { invalid, invalidObject } from './field-error.ts'
import { scanJson } from './json-scanner.ts'
import { jsonWord } from './json-word.ts'
import { parseMerging } from './merging-json.ts'
import { firstErrors } from './strict-errors.ts'

/** The resource that the endpoint takes. */
export interface Expected extends Decodable {
  group: string
  version: string
  kind: string
}

/** A FieldValidation is a mode of the fieldValidation query parameter. */
export type FieldValidation = 'Strict' | 'Warn' | 'Ignore'

const TYPE_META =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'

/** Parses a JSON body. Throws a StatusError: 400 in upstream's words for a syntax error, 413 for too many values. */
export function parseJsonBody(text: string, kind: string, maxValues = defaultWorkLimits.bodyValues): unknown {
  checkJsonValues(text, maxValues)
  let value: unknown
  try {
    value = parseExact(text)
  } catch {
    throw unrecognized(text, kind, scanJson(text).error ?? 'unexpected end of JSON input')
  }
  return value
}

/**
 * As {@link parseJsonBody}, for what was parsed elsewhere (YAML): a body that is no object is refused in the same
 * words.
 */
export function assertObjectBody(value: unknown, text: string, kind: string): Record<string, unknown> {
  if (value === null) return {}
  const word = jsonWord(value)
  if (word !== 'object') {
    throw unrecognized(text, kind, `json: cannot unmarshal ${word} into Go value of type ${TYPE_META}`)
  }
  const body = value as Record<string, unknown>
  for (const field of ['apiVersion', 'kind'] as const) {
    const found = body[field]
    if (found === undefined || found === null || typeof found === 'string') continue
    const type = jsonWord(found)
    throw unrecognized(text, kind, `json: cannot unmarshal ${type} into Go struct field .${field} of type string`)
  }
  if (text.length > 2 * MAX_DEPTH && isDeeper(body, MAX_DEPTH)) throw unrecognized(text, kind, 'exceeded max depth')
  const { apiVersion } = body
  if (typeof apiVersion === 'string' && apiVersion.split('/').length > 2) {
    throw badRequest(
      `the object provided is unrecognized (must be of type ${kind}): unexpected GroupVersion string: ${apiVersion} (${summary(text)})`,
    )
  }
  return body
}

/** Deeper nesting is no API object, but an attempt on our stack. */
const MAX_DEPTH = 2000

function isDeeper(value: unknown, depth: number): boolean {
  if (value === null || typeof value !== 'object') return false
  if (depth === 0) return true
  return Object.values(value).some((entry) => isDeeper(entry, depth - 1))
}

const unrecognized = (text: string, kind: string, why: string): StatusError =>
  badRequest(
    `the object provided is unrecognized (must be of type ${kind}): couldn't get version/kind; json parse error: ${why} (${summary(text)})`,
  )

const SHOWN_BYTES = 30
/** The beginning of a body, as text if it looks like an object, else in hex. */
function summary(text: string): string {
  const bytes = Buffer.from(text)
  if (bytes.length === 0) return '<empty>'
  const shown = bytes.subarray(0, SHOWN_BYTES).toString(bytes[0] === 0x7b ? 'utf8' : 'hex')
  return bytes.length > SHOWN_BYTES ? `${shown} ...` : shown
}

/**
 * Decodes the body of a create or update. `text` is the JSON it was parsed from (absent for YAML),
 * `duplicates` what a YAML parser said about keys. Answers what Warn shows as warnings; Strict makes it a 400.
 */
export function decodeBody(
  expected: Expected,
  body: Record<string, unknown>,
  options: { fieldValidation?: FieldValidation; text?: string; strictErrors?: string[]; maxValues?: number } = {},
): Decoded {
  const kind = typeof body.kind === 'string' && body.kind !== '' ? body.kind : expected.kind
  const apiVersion =
    typeof body.apiVersion === 'string' && body.apiVersion !== '' ? body.apiVersion : apiVersionOf(expected)
  const [version = '', group = ''] = apiVersion.split('/').reverse()
  const refuse = (why: string) =>
    badRequest(`${kind} in version ${toJson(version)} cannot be handled as a ${expected.kind}: ${why}`)
  if (expected.custom) checkCustomType(expected, body, options.text)
  else if (kind !== expected.kind || group !== expected.group)
    throw refuse(otherKind({ group, version, kind }, expected, body, options.maxValues))
  if (version !== expected.version) {
    if (!expected.custom && !knownGroupVersions().includes(apiVersion))
      throw refuse(unregistered({ group, version, kind }))
    throw badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version (${apiVersionOf(expected)})`,
    )
  }
  const { fieldValidation = 'Warn' } = options
  const { duplicates, fractions } = options.text === undefined ? noFindings : findingsIn(options.text, body)
  const merged =
    duplicates.length > 0 && !expected.custom
      ? (parseMerging(options.text!, parseExact) as Record<string, unknown>)
      : body
  let decoded: Decoded
  try {
    if (fractions && !expected.custom) decodeObject(expected, parseFractions(options.text!), options.maxValues)
    decoded = decodeObject(expected, merged, options.maxValues)
  } catch (error) {
    if (error instanceof DecodeError) throw refuse(error.message).atLimit(error.limit)
    throw error
  }
  if (fieldValidation === 'Ignore') return { object: decoded.object, strictErrors: [] }
  const strictErrors = firstErrors([...(options.strictErrors ?? []), ...decoded.strictErrors, ...duplicates])
  if (fieldValidation === 'Strict' && strictErrors.length > 0) {
    throw refuse(`strict decoding error: ${strictErrors.join(', ')}`)
  }
  return { object: decoded.object, strictErrors }
}

const packageOf = (group: string) => (group === '' ? 'core' : group.split('.')[0])

/** A custom resource's body must say itself what it is, and exactly. */
function checkCustomType(expected: Expected, body: Record<string, unknown>, source: string | undefined): void {
  const text = source ?? toJson(body)
  if (!body.kind) {
    throw badRequest(
      `the object provided is unrecognized (must be of type ${expected.kind}): Object 'Kind' is missing in '${text}' (${summary(text)})`,
    )
  }
  if (body.apiVersion !== apiVersionOf(expected)) {
    throw badRequest(
      `the API version in the data (${body.apiVersion ?? ''}) does not match the expected API version (${apiVersionOf(expected)})`,
    )
  }
  if (body.kind === expected.kind) return
  const { name = '' } = (body.metadata ?? {}) as { name?: string }
  throw invalidObject({ group: expected.group, kind: String(body.kind) }, name, [
    invalid('kind', body.kind, `must be ${expected.kind}`),
  ])
}

const unregistered = (found: { group: string; version: string; kind: string }): string =>
  `no kind ${toJson(found.kind)} is registered for version "${apiVersionOf(found)}" in scheme "pkg/runtime/scheme.go:111"`

/** Returns whether a type is a kind of its own, and not a part of one, e.g. `ApplyConfiguration`. */
const isKind = (schema: string): boolean => {
  const { byName } = structType(schema)
  return byName.has('kind') && byName.has('metadata')
}

/** Kinds that a real server registers with every version that it knows. */
const ofEveryVersion = new Set(['DeleteOptions', 'ListOptions', 'WatchEvent'])
const isShared = (found: { group: string; version: string; kind: string }): boolean =>
  ['List', 'Status'].includes(found.kind) ||
  (ofEveryVersion.has(found.kind) && knownGroupVersions().includes(apiVersionOf(found)))

/** Kinds of these groups are served by servers within a real server, which know no kinds of others. */
const ownSchemes = ['apiextensions.k8s.io', 'apiregistration.k8s.io']

/** A body of another kind is read as its own kind first, then refused. */
function otherKind(
  found: { group: string; version: string; kind: string },
  expected: Expected,
  body: object,
  maxValues?: number,
): string {
  const schema = `io.k8s.api.${packageOf(found.group)}.${found.version}.${found.kind}`
  const isForeign = ownSchemes.includes(expected.group) && found.group !== expected.group
  const known = !isForeign && hasStructType(schema) && isKind(schema)
  if (!known && !isShared(found)) {
    return unregistered(found)
  }
  if (known) {
    try {
      decodeObject({ schema }, body, maxValues)
    } catch (error) {
      if (error instanceof DecodeError) return error.message
      throw error
    }
  }
  // Events of both groups are one type inside of a real server.
  const within = expected.kind === 'Event' ? 'core' : packageOf(expected.group)
  return `converting (${found.version}.${found.kind}) to (${within}.${expected.kind}): unknown conversion`
}

/** Holds what a text of JSON has that its parsed value does not show. */
interface Findings {
  /** The errors of a strict reader about duplicate keys. */
  duplicates: string[]
  /** True if a member may be a number that is not written as an integer, e.g. `2.0`: integers are refused for that. */
  fractions: boolean
}
const noFindings: Findings = { duplicates: [], fractions: false }

/** Looks for duplicates by a scan that only runs when the text has more keys than the parsed value. */
export function findingsIn(text: string, value: unknown): Findings {
  const { keys, fractions } = membersOf(text)
  if (countKeys(value) === keys) return fractions ? { duplicates: [], fractions } : noFindings
  return { duplicates: firstErrors(scanJson(text).duplicates).map((path) => `duplicate field "${path}"`), fractions }
}

/** Returns whether {@link findingsIn} finds something. */
export const hasFindings = (text: string, value: unknown): boolean => findingsIn(text, value) !== noFindings

function countKeys(value: unknown): number {
  if (value === null || typeof value !== 'object') return 0
  let keys = 0
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object') keys += countKeys(item)
    return keys
  }
  for (const name in value) {
    keys++
    const entry = (value as Record<string, unknown>)[name]
    if (typeof entry === 'object') keys += countKeys(entry)
  }
  return keys
}

const QUOTE = 34
const BLANK = 32
const fraction = /\s*-?\d+[.eE]/y

/**
 * Counts colons behind a quote: each ends a key, unless it stands inside a string, which then only costs a scan, as
 * does a blank between the two. Numbers in lists are not looked at.
 */
function membersOf(text: string): { keys: number; fractions: boolean } {
  let keys = 0
  let fractions = false
  for (let at = text.indexOf(':'); at !== -1; at = text.indexOf(':', at + 1)) {
    const before = text.charCodeAt(at - 1)
    if (before <= BLANK) return { keys: -1, fractions: true }
    if (before !== QUOTE) continue
    keys++
    const first = text.charCodeAt(at + 1)
    if (first <= NINE && first !== QUOTE && !fractions) fractions = isFraction(text, at + 1)
  }
  return { keys, fractions }
}

const NINE = 57
function isFraction(text: string, at: number): boolean {
  fraction.lastIndex = at
  return fraction.test(text)
}
