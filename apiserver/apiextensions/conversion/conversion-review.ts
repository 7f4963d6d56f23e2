/** ConversionReview of apiextensions.k8s.io/v1 and v1beta1. Upstream: apiserver/conversion/webhook_converter.go. */
import { toJson } from '../../../shared/api/json/exact-json.ts'
import { plainError } from '../../../shared/api/status/status-errors.ts'
import type { KubeObject } from '../../../shared/api/types.ts'

const reviewGroup = 'apiextensions.k8s.io'

export interface ConversionRequest {
  uid: string
  version: string
  desiredAPIVersion: string
  /** Holds the objects with kind and apiVersion. */
  objects: readonly KubeObject[]
}

export const reviewOf = ({ uid, version, desiredAPIVersion, objects }: ConversionRequest): string =>
  toJson({
    kind: 'ConversionReview',
    apiVersion: `${reviewGroup}/${version}`,
    request: { uid, desiredAPIVersion, objects },
  })

interface Response {
  uid?: string
  result?: { status?: string; message?: string }
  convertedObjects?: KubeObject[] | null
}

/**
 * Returns the converted objects of an answer; of their metadata, only labels and annotations come from the webhook.
 * Throws a StatusError in upstream's words.
 */
export function convertedObjects(answer: Record<string, unknown>, request: ConversionRequest): KubeObject[] {
  const { version, objects, desiredAPIVersion } = request
  const fail = (why: string) => plainError(`conversion webhook for ${typeOf(objects)}${why}`)
  const { response } = answer as { response?: Response | null }
  const apiVersion = `${reviewGroup}/${version}`
  if (answer.apiVersion !== apiVersion || answer.kind !== 'ConversionReview')
    throw fail(
      ` failed: expected webhook response of ${apiVersion}, Kind=ConversionReview, got ${answer.apiVersion ?? ''}, Kind=${answer.kind ?? ''}`,
    )
  if (!response) throw fail(' failed: no response provided')
  const { uid = '', result, convertedObjects } = response
  if (version === 'v1' && uid !== request.uid)
    throw fail(` failed: expected response.uid=${JSON.stringify(request.uid)}, got ${toJson(uid)}`)
  if (result?.status !== 'Success')
    throw fail(` failed: ${result?.message || `response.result.status was '${result?.status ?? ''}', not 'Success'`}`)
  const converted = convertedObjects ?? []
  if (converted.length !== objects.length)
    throw fail(` returned ${converted.length} objects, expected ${objects.length}`)
  return converted.map((object, index) => {
    const at = objects.length > 1 ? ` returned invalid converted object at index ${index}` : ' returned invalid object'
    if (object.apiVersion !== desiredAPIVersion)
      throw fail(
        ` returned invalid object at index ${index}: invalid groupVersion (expected ${desiredAPIVersion}, received ${object.apiVersion ?? ''})`,
      )
    const original = objects[index]!
    const problem = identityProblem(original, object)
    if (problem !== undefined) throw fail(`${at}: ${problem}`)
    return { ...object, metadata: metadataOf(original, object) }
  })
}

/**
 * Returns the type of the objects as messages show it: `stable.example.com/v1, Kind=Foo`, or `Kind=FooList` for several
 * objects.
 */
export const typeOf = (objects: readonly KubeObject[]): string =>
  `${objects[0]?.apiVersion}, Kind=${objects[0]?.kind}${objects.length > 1 ? 'List' : ''}`

function identityProblem(original: KubeObject, converted: KubeObject): string | undefined {
  if (original.kind !== converted.kind) return `must have the same kind: ${original.kind} != ${converted.kind}`
  for (const [field, shown] of [
    ['name', 'name'],
    ['namespace', 'namespace'],
    ['uid', 'UID'],
  ] as const) {
    const before = original.metadata[field] ?? ''
    const after = converted.metadata?.[field] ?? ''
    if (before !== after) return `must have the same ${shown}: ${before} != ${after}`
  }
  return undefined
}

/** Takes labels and annotations from the webhook's answer; it may change nothing else of the metadata. */
function metadataOf({ metadata }: KubeObject, { metadata: converted }: KubeObject): KubeObject['metadata'] {
  return { ...metadata, labels: converted.labels, annotations: converted.annotations }
}
