import { parseExact, toJson } from '../../../shared/api/json/exact-json.ts'
import { badRequest } from '../../../shared/api/status/status-errors.ts'
import type { DeleteOptions } from '../../../shared/api/types.ts'
import { gatedReason, type ReasonContext, validateReason } from '../../registry/writes/termination-reason.ts'
import { checkJsonValues } from '../../validation/body-values.ts'
import { DecodeError, decodeStruct } from '../../validation/decoder.ts'
import { invalid, invalidObject, notSupported } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { scanJson } from '../../validation/json-scanner.ts'
import { jsonWord } from '../../validation/json-word.ts'
import { mediaType, unknownMediaType } from '../body/request-object.ts'
import { parseYaml, YamlError } from '../body/yaml-body.ts'
import { booleanParameter, type Query } from '../request-info.ts'
import { integer } from './list-options.ts'
import { validateDryRun } from './write-options.ts'

const schema = 'io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions'
const typeMeta =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'

/**
 * DeleteOptions from the body, or when there is none from the query. Only the reason is read from the query in any
 * case, for clients that send a body of their own making; that in the body wins.
 */
export function parseDeleteOptions(body: unknown, query: Query, context: ReasonContext): DeleteOptions {
  const options = body === undefined ? fromQuery(query) : decodeDeleteOptions(body)
  options.reason = gatedReason(options.reason ?? query.get('reason') ?? undefined, context)
  const errors: FieldErrors = []
  const { propagationPolicy, orphanDependents, dryRun = [] } = options
  if (propagationPolicy !== undefined && orphanDependents !== undefined) {
    const detail = 'orphanDependents and deletionPropagation cannot be both set'
    errors.push(invalid('propagationPolicy', propagationPolicy, detail))
  }
  if (propagationPolicy !== undefined && !policies.includes(propagationPolicy)) {
    errors.push(notSupported('propagationPolicy', propagationPolicy, [...policies, 'nil']))
  }
  validateDryRun(dryRun, errors)
  validateReason(options.reason, errors)
  if (errors.length > 0) throw invalidObject({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, '', errors)
  return options
}

const policies = ['Foreground', 'Background', 'Orphan']

function fromQuery(query: Query): DeleteOptions {
  const dryRun = query.getAll('dryRun')
  const [uid, resourceVersion] = [query.get('uid'), query.get('resourceVersion')]
  return {
    gracePeriodSeconds: integer(query, 'gracePeriodSeconds'),
    propagationPolicy: query.get('propagationPolicy') ?? undefined,
    orphanDependents: query.has('orphanDependents') ? booleanParameter(query, 'orphanDependents') : undefined,
    ...(dryRun.length > 0 && { dryRun }),
    ...((uid || resourceVersion) && {
      preconditions: { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) },
    }),
  }
}

/** `body` is what a parser of JSON or YAML made of it. Throws a StatusError (400). */
export function decodeDeleteOptions(body: unknown): DeleteOptions {
  if (body === null) return {}
  if (typeof body !== 'object' || Array.isArray(body)) {
    const word = jsonWord(body)
    throw badRequest(
      `couldn't get version/kind; json parse error: json: cannot unmarshal ${word} into Go value of type ${typeMeta}`,
    )
  }
  const { kind = 'DeleteOptions', apiVersion } = body as DeleteOptions
  for (const [name, value] of Object.entries({ apiVersion, kind })) {
    if (value === undefined || value === null || typeof value === 'string') continue
    const found = `json: cannot unmarshal ${jsonWord(value)} into Go struct field .${name} of type string`
    throw badRequest(`couldn't get version/kind; json parse error: ${found}`)
  }
  if (kind !== 'DeleteOptions' && kind !== '') {
    throw badRequest(
      `no kind ${toJson(kind)} is registered for version ${toJson(apiVersion || 'meta.k8s.io/v1')} in scheme "pkg/runtime/scheme.go:111"`,
    )
  }
  try {
    return decodeStruct<DeleteOptions>(schema, body).value
  } catch (error) {
    if (error instanceof DecodeError) throw badRequest(error.message)
    throw error
  }
}

/**
 * Parses the body by its media type. Resolves to undefined for an empty body. Rejects with a StatusError for an unknown
 * media type, and for more than `maxValues` values.
 */
export async function parseDeleteBody(
  bytes: Buffer,
  contentType: string | undefined,
  maxValues: number,
): Promise<unknown> {
  if (bytes.length === 0) return undefined
  switch (mediaType(contentType)) {
    case 'application/json':
      return parseJson(bytes.toString('utf8'), maxValues)
    case 'application/yaml':
      return parseYamlOptions(bytes.toString('utf8'), maxValues)
    case 'application/vnd.kubernetes.protobuf':
      return parseProtobufOptions(bytes, maxValues)
    default:
      throw unknownMediaType()
  }
}

async function parseYamlOptions(text: string, maxValues: number): Promise<unknown> {
  try {
    return (await parseYaml(text, maxValues)).value
  } catch (error) {
    if (!(error instanceof YamlError)) throw error
    throw badRequest(error.message)
  }
}

async function parseProtobufOptions(bytes: Buffer, maxValues: number): Promise<unknown> {
  const { decodeProtobuf, ProtobufError } = await import('../../protobuf/decode.ts')
  try {
    return decodeProtobuf(bytes, undefined, maxValues)
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error
    throw badRequest(error.message)
  }
}

function parseJson(text: string, maxValues: number): unknown {
  checkJsonValues(text, maxValues)
  try {
    return parseExact(text)
  } catch {
    const why = scanJson(text).error ?? 'unexpected end of JSON input'
    throw badRequest(`couldn't get version/kind; json parse error: ${why}`)
  }
}
