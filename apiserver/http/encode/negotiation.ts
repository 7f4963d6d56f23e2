import { notAcceptable, notAcceptableRoute } from '../../../shared/api/status/status-errors.ts'

/** Describes the form of answer that the client wants. */
export interface Negotiated {
  encoding: 'json' | 'yaml' | 'protobuf'
  /** JSON has line breaks, whatever the client asks for. */
  isIndented?: boolean
  /** Converts objects for the answer; without it they stay as they are. */
  transform?: Transform
}
export interface Transform {
  kind: 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList'
  version: 'v1' | 'v1beta1'
}

export interface MediaRange {
  type: string
  quality: number
  parameters: Record<string, string>
}

const json = 'application/json'
const yaml = 'application/yaml'
/** This serves clients that accept nothing else: JSON is cut from the stored text, without parsing. */
const protobuf = 'application/vnd.kubernetes.protobuf'
const media = [json, yaml, protobuf]
export const streamMedia = [`${json};stream=watch`, `${protobuf};stream=watch`]
const watchMedia = [...media, ...streamMedia]
const acceptable = new Set(['*/*', ...media])

export const isAcceptable = (type: string): boolean => acceptable.has(type)

const plain: Negotiated = { encoding: 'json' }
const known = new Map<string, Negotiated>()
const maxKnown = 1000

/** Reads the Accept header of a request on a resource; `list`: the 406 of a collection names the watch types too. */
export function negotiate(accept: string | undefined, list: boolean): Negotiated {
  if (accept === undefined || accept === '' || accept === json || accept === '*/*') return plain
  const found = known.get(accept)
  if (found) return found
  const negotiated = choose(parseAccept(accept), list)
  if (known.size >= maxKnown) known.clear()
  known.set(accept, negotiated)
  return negotiated
}

/**
 * Negotiates as {@link negotiate} does, for a kind without columns: upstream's storage of reviews, tokens, bindings and
 * evictions makes no Table.
 */
export function negotiateWithoutTable(accept: string | undefined): Negotiated {
  const negotiated = negotiate(accept, false)
  if (negotiated.transform?.kind !== 'Table') return negotiated
  const others = parseAccept(accept ?? '').filter(({ parameters }) => parameters.as !== 'Table')
  if (!others.some(({ type }) => acceptable.has(type))) throw unknownShape()
  return choose(others, false)
}

/**
 * Negotiates the form of a text. Throws a StatusError (406) for a client that would not take any form of an object.
 */
export function negotiateText(accept: string | undefined): Negotiated {
  const types = accept ? parseAccept(accept).map(({ type }) => type) : ['*/*']
  if (types.some((type) => acceptable.has(type))) return negotiateWithoutTable(accept)
  throw types.includes('text/plain')
    ? unknownShape()
    : notAcceptableRoute(`Available representations: ${['text/plain', ...media].join(', ')}`)
}

/** Upstream's storage of these subresources makes no Table. */
const withoutTable = new Set([
  'pods/ephemeralcontainers',
  'pods/resize',
  'apiservices/status',
  'namespaces/finalize',
  'certificatesigningrequests/approval',
])

/** Negotiates as {@link negotiate} does, for an object or one of its subresources. */
export const negotiateObject = (
  accept: string | undefined,
  { resource, subresource }: { resource: string; subresource?: string },
): Negotiated =>
  subresource !== undefined && withoutTable.has(`${resource}/${subresource}`)
    ? negotiateWithoutTable(accept)
    : negotiate(accept, false)

/** Parses an Accept header. The best range comes first; ranges of equal quality keep the order of the header. */
export function parseAccept(accept: string): MediaRange[] {
  const ranges = accept.split(',').map((part): MediaRange => {
    const [type = '', ...pairs] = part.split(';').map((piece) => piece.trim())
    const parameters = Object.fromEntries(
      pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
    )
    const quality = Number(parameters.q ?? 1)
    return { type, quality: Number.isNaN(quality) ? 1 : quality, parameters }
  })
  return ranges.sort((a, b) => b.quality - a.quality)
}

/** Refuses, as the router does, clients that accept none of these types; parameters do not count. */
export function assertAcceptable(ranges: readonly MediaRange[], list: boolean): void {
  if (ranges.some(({ type }) => acceptable.has(type))) return
  throw notAcceptableRoute(`Available representations: ${(list ? watchMedia : media).join(', ')}`)
}

function choose(ranges: readonly MediaRange[], list: boolean): Negotiated {
  assertAcceptable(ranges, list)
  const candidates = ranges.flatMap((range) => {
    const negotiated = acceptable.has(range.type) ? read(range) : undefined
    return negotiated ? [{ negotiated, type: range.type }] : []
  })
  const best = candidates.find(({ type }) => type !== protobuf) ?? candidates[0]
  if (!best) throw unknownShape()
  return best.negotiated
}

export const unknownShape = (accepted: readonly string[] = media) =>
  notAcceptable(`only the following media types are accepted: ${accepted.join(', ')}`)

const kinds = new Set(['Table', 'PartialObjectMetadata', 'PartialObjectMetadataList'])

/** Returns undefined for an unknown transformation. */
function read({ type, parameters }: MediaRange): Negotiated | undefined {
  const encoding = encodingOf(type)
  const { as, g, v } = parameters
  if (as === undefined && g === undefined && v === undefined) return { encoding }
  // Tables have no protobuf form.
  if (as === 'Table' && encoding === 'protobuf') return undefined
  if (as === undefined || !kinds.has(as) || g !== 'meta.k8s.io' || (v !== 'v1' && v !== 'v1beta1')) return undefined
  return { encoding, transform: { kind: as as Transform['kind'], version: v } }
}

const encodingOf = (type: string): Negotiated['encoding'] =>
  type === yaml ? 'yaml' : type === protobuf ? 'protobuf' : 'json'

/** The encoding of what has no other shape: the first that is taken, and protobuf last. */
export function encodingFor(ranges: readonly MediaRange[]): Negotiated['encoding'] {
  const types = ranges.map(({ type }) => type).filter((type) => acceptable.has(type))
  return encodingOf(types.find((type) => type !== protobuf) ?? types[0] ?? json)
}

/** Returns the encoding of an error: one that the client takes without another shape, or else indented JSON. */
export function errorEncoding(accept: string | undefined): Negotiated {
  if (!accept || accept === json) return plain
  const taken = parseAccept(accept).filter(
    ({ type, parameters }) => parameters.as === undefined && (type === 'application/*' || acceptable.has(type)),
  )
  return { encoding: encodingFor(taken), isIndented: taken.length === 0 }
}

/**
 * Makes the encoder's error (406) for an object that has no protobuf form; `type` is the object's type as Go prints it.
 */
export const notInProtobuf = (type: string) =>
  notAcceptable(
    `object ${type} does not implement the protobuf marshalling interface and cannot be encoded to a protobuf message`,
  )
