import { load } from 'js-yaml'

/** What a YAML file says; an empty map for one that has nothing but comments. Throws what the parser throws. */
export function parseYaml(source: string): unknown {
  const isEmpty = source.split('\n').every((line) => /^\s*(#.*)?$/.test(line))
  return isEmpty ? {} : (load(source) ?? {})
}
