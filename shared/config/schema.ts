import type { Options } from './option.ts'

/** A config file's JSON schema, by which editors complete and check it. */
export function configSchema({ id, title }: { id: string; title: string }, options: Options): object {
  const properties = Object.entries(options).map(([name, { type, help, default: value }]) => {
    const shown = type.show?.(value)
    return [
      name,
      { ...(type.schema ?? { type: 'string' }), description: shown === undefined ? help : `${help} (${shown})` },
    ]
  })
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: id,
    title,
    type: 'object',
    properties: Object.fromEntries(properties),
    additionalProperties: false,
  }
}
