import { load } from 'js-yaml'

/** Parses YAML; a file that has nothing but comments gives an empty map. Throws the parser's error. */
export function parseYaml(source: string): unknown {
  const isEmpty = source.split('\n').every((line) => /^\s*(#.*)?$/.test(line))
  return isEmpty ? {} : (load(source) ?? {})
}
