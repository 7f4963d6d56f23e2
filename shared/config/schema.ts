import type { Options, OptionType } from './option.ts'

/** Returns the JSON schema of an option's value in a config file. */
export const schemaOf = <Value>({ schema = { type: 'string' } }: OptionType<Value>): object => schema

/** A config file's JSON schema, by which editors complete and check it. */
export function configSchema({ id, title }: { id: string; title: string }, options: Options): object {
  const properties = Object.entries(options).map(([name, { type, help, default: value }]) => {
    const shown = type.show?.(value)
    return [name, { ...schemaOf(type), description: shown === undefined ? help : `${help} (${shown})` }]
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
