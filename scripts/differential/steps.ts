/** Requests as the areas write them. */
import type { Random } from '../../test/fuzz/random.ts'
import type { JsonObject } from './bases.ts'
import type { Step } from './case.ts'

export const patchTypes = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
  apply: 'application/apply-patch+yaml',
} as const
export type PatchType = keyof typeof patchTypes

export const protobuf = 'application/vnd.kubernetes.protobuf'

export const post = (path: string, body: unknown): Step => ({ method: 'POST', path, body })
export const put = (path: string, body: unknown): Step => ({ method: 'PUT', path, body })
export const get = (path: string): Step => ({ method: 'GET', path })
export const patch = (type: PatchType, path: string, body: unknown): Step => ({
  method: 'PATCH',
  path,
  type: patchTypes[type],
  body,
})

/** Returns a DELETE with options in its body, if there are any. */
export const remove = (path: string, body?: unknown): Step => ({
  method: 'DELETE',
  path,
  ...(body !== undefined && { body }),
})

/** The forms in which a client may want an answer, plain JSON most of the time. */
export const accepts: readonly (string | undefined)[] = [
  ...Array<undefined>(12).fill(undefined),
  'application/json;as=Table;v=v1;g=meta.k8s.io',
  'application/json;as=Table;v=v1;g=meta.k8s.io,application/json',
  'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
  'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
  protobuf,
]

/** Returns a query of some of the parameters, each with one of its values; sometimes empty. */
export function query(random: Random, parameters: Readonly<Record<string, readonly string[]>>, most = 3): string {
  const chosen = new Map<string, string>()
  for (let more = random.below(most + 1); more > 0; more--) {
    const name = random.pick(Object.keys(parameters))
    chosen.set(name, random.pick(parameters[name]!))
  }
  const shown = [...chosen].map(([name, value]) => `${escaped(name)}=${escaped(value)}`)
  return shown.length > 0 ? `?${shown.join('&')}` : ''
}

/** Braces of a name stay as they are, to be filled in. */
const escaped = (value: string): string => encodeURIComponent(value).replaceAll(/%7B%7B(\w+)%7D%7D/g, '{{$1}}')

/** Returns the step in another form of answer, by chance. */
export function inSomeForm(random: Random, step: Step): Step {
  const accept = random.pick(accepts)
  return accept ? { ...step, accept } : step
}

export const fieldPatch = (path: string, value: unknown): JsonObject =>
  path.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as JsonObject
