/** The objects that the recordings of test/golden/api create: what the generator changes. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export type JsonObject = { [name: string]: unknown }
export interface Base {
  /** The collection, e.g. `/api/v1/namespaces/diff/pods`. */
  path: string
  body: JsonObject & { kind: string; metadata: JsonObject }
}

/** Namespace of all cases. */
export const namespace = 'diff'

/** What a create of these needs cannot be asked twice, or is no object that stays. */
const excluded =
  /example\.com|(eviction|token|binding|reviews|customresourcedefinitions|namespaces|nodes|apiservices)$|\/pods\//

interface RecordedStep {
  method?: string
  path?: string
  body?: unknown
  answer?: { status: number }
}

/** Returns the bases by their kind, in an order that depends on the recordings alone. */
export function readBases(folder: string): Map<string, Base[]> {
  const kinds = new Map<string, Base[]>()
  for (const file of readdirSync(folder).sort()) {
    const text = readFileSync(join(folder, file), 'utf8').replaceAll('{{ns}}', namespace)
    const scenarios = JSON.parse(text) as { steps: RecordedStep[] }[]
    for (const { method, path, body, answer } of scenarios.flatMap(({ steps }) => steps)) {
      if (method !== 'POST' || answer?.status !== 201 || !isBase(body)) continue
      const collection = path!.split('?')[0]!
      if (excluded.test(collection) || collection.split('/').length < 4) continue
      const known = kinds.get(body.kind) ?? []
      known.push({ path: collection, body })
      kinds.set(body.kind, known)
    }
  }
  return kinds
}

function isBase(body: unknown): body is Base['body'] {
  const { kind, metadata } = (body ?? {}) as JsonObject
  return typeof kind === 'string' && typeof metadata === 'object' && metadata !== null
}
