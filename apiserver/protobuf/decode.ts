/**
 * Protobuf request bodies: the envelope that Go clients send, and in it any message of the table, as the JSON the same
 * client would have sent. What Go writes on the wire though it is empty is there too; the decoder of JSON bodies takes
 * it out again.
 */
import { parseExact } from '../../shared/api/json/exact-json.ts'
import { ProtobufError, WireReader } from '../../shared/protobuf/wire-reader.ts'
import { BodyValues, jsonValues } from '../validation/body-values.ts'
import { type JsonMap, put } from '../values/json-map.ts'
import { defaultWorkLimits } from '../work-limits.ts'
import { decodeMessage } from './decode-message.ts'
import { messageOfKind } from './messages.ts'

export { ProtobufError }

const prefix = Buffer.from('k8s\0')

/** Holds the fields of an envelope: the type of its object, the encoded object, and the content type. */
export interface Envelope {
  apiVersion: string
  kind: string
  raw: Buffer
  contentType: string
}

/** Throws {@link ProtobufError} when the body is no envelope. */
function openEnvelope(body: Buffer): Envelope {
  if (!body.subarray(0, prefix.length).equals(prefix)) {
    throw new ProtobufError(
      `provided data does not appear to be a protobuf message, expected prefix [${[...prefix].join(' ')}]`,
    )
  }
  if (body.length === prefix.length) throw new ProtobufError('empty body')
  const envelope: Envelope = { apiVersion: '', kind: '', raw: Buffer.alloc(0), contentType: '' }
  const reader = new WireReader(body, prefix.length)
  while (!reader.done) {
    const { number, wire } = reader.tag('Unknown')
    if (number > 4) {
      reader.skip(wire)
      continue
    }
    if (wire !== 2) throw new ProtobufError(`proto: wrong wireType = ${wire} for field ${envelopeFields[number]}`)
    const bytes = reader.bytes()
    if (number === 1) Object.assign(envelope, typeMeta(bytes))
    else if (number === 2) envelope.raw = bytes
    else if (number === 4) envelope.contentType = bytes.toString()
  }
  return envelope
}
const envelopeFields = ['', 'TypeMeta', 'Raw', 'ContentEncoding', 'ContentType']

function typeMeta(bytes: Buffer): { apiVersion: string; kind: string } {
  const out = { apiVersion: '', kind: '' }
  const reader = new WireReader(bytes)
  while (!reader.done) {
    const { number, wire } = reader.tag('TypeMeta')
    if (number === 1 && wire === 2) out.apiVersion = reader.bytes().toString()
    else if (number === 2 && wire === 2) out.kind = reader.bytes().toString()
    else reader.skip(wire)
  }
  return out
}

/**
 * The body as JSON with apiVersion and kind; `expected` stands in for what the envelope leaves empty.
 * Throws {@link ProtobufError}, and a StatusError (413) for more than `maxValues` values.
 */
export const decodeProtobuf = (
  body: Buffer,
  expected = { apiVersion: '', kind: '' },
  maxValues = defaultWorkLimits.bodyValues,
): JsonMap => decodeEnvelope(body, expected, new BodyValues(maxValues))

function decodeEnvelope(body: Buffer, expected: Pick<Envelope, 'apiVersion' | 'kind'>, values: BodyValues): JsonMap {
  const envelope = openEnvelope(body)
  const apiVersion = envelope.apiVersion || expected.apiVersion
  const kind = envelope.kind || expected.kind
  const message = messageOfKind(apiVersion, kind)
  if (!message)
    throw new ProtobufError(`no kind "${kind}" is registered for version "${apiVersion}" in scheme "protobuf"`)
  const out: JsonMap = { apiVersion, kind }
  const decodeRaw = (bytes: Buffer): unknown => rawExtension(bytes, values)
  const decoded = decodeMessage(message, envelope.raw, { decodeRaw, values })
  for (const [key, value] of Object.entries(decoded)) put(out, key, value)
  return out
}

/** A raw extension: JSON, or an envelope of its own. */
function rawExtension(bytes: Buffer, values: BodyValues): unknown {
  if (bytes.length === 0) return null
  if (bytes.subarray(0, prefix.length).equals(prefix)) {
    return decodeEnvelope(bytes, { apiVersion: '', kind: '' }, values)
  }
  const text = bytes.toString()
  values.add(jsonValues(text))
  try {
    return parseExact(text)
  } catch (error) {
    throw new ProtobufError((error as Error).message)
  }
}
