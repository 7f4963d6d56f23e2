/** What `openapi/additions.ts` adds to Kubernetes' API, in the words of the published documents. */
import { readFileSync } from 'node:fs'
import { additions } from '../../openapi/additions.ts'

const upstream = JSON.parse(
  readFileSync(new URL('../../openapi/input/schemas.json', import.meta.url), 'utf8'),
) as Record<string, object>

/** Types that Kubernetes does not have. */
export const addedTypes = new Set(additions.map(({ type }) => type).filter((type) => !Object.hasOwn(upstream, type)))

/** Fields of types that Kubernetes has. */
export const addedFields = additions
  .filter(({ type }) => !addedTypes.has(type))
  .flatMap(({ type, fields }) => Object.keys(fields).map((field): [type: string, field: string] => [type, field]))

const addedKinds = additions.flatMap(({ kind }) => (kind ? [kind] : []))
/** Groups that Kubernetes does not have. */
export const addedGroups = new Set(addedKinds.map(({ group }) => group))
/** Documents of these groups and their versions. */
export const addedDocuments = addedKinds.flatMap(({ group, version }) => [`apis/${group}`, `apis/${group}/${version}`])
