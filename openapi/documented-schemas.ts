/**
 * Component schemas with their descriptions, for the OpenAPI documents. Descriptions are read again each time: a
 * document is kept, they are not.
 */
import { readFileSync } from 'node:fs'
import { type OpenApiSchema, openApiSchema } from './schemas.ts'

export type DocumentedSchema = OpenApiSchema & { description?: string }

type Descriptions = Record<string, Record<string, string>>

const refsOf = (schema: OpenApiSchema): string[] =>
  [...JSON.stringify(schema).matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name ?? '')

/** The named schemas and all they refer to, sorted by name. */
export function documentedSchemas(roots: Iterable<string>): Record<string, DocumentedSchema> {
  const text = readFileSync(new URL('data/descriptions.json', import.meta.url), 'utf8')
  const descriptions = JSON.parse(text) as Descriptions
  const reached = new Map<string, OpenApiSchema>()
  const visit = (name: string): void => {
    const schema = openApiSchema(name)
    if (!schema || reached.has(name)) return
    reached.set(name, schema)
    for (const ref of refsOf(schema)) visit(ref)
  }
  for (const root of roots) visit(root)
  const result: Record<string, DocumentedSchema> = {}
  for (const name of [...reached.keys()].sort()) {
    result[name] = described(reached.get(name) as OpenApiSchema, descriptions[name] ?? {})
  }
  return result
}

function described(schema: OpenApiSchema, descriptions: Record<string, string>): DocumentedSchema {
  const own = descriptions['']
  const properties: Record<string, DocumentedSchema> = {}
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const description = descriptions[name]
    properties[name] = description ? { description, ...property } : property
  }
  return { ...(own && { description: own }), ...schema, ...(schema.properties && { properties }) }
}
