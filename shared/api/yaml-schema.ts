import type { ScalarTagDefinition, Schema } from 'js-yaml'

/** YAML 1.1 as Kubernetes reads it: `yes` is true, `0644` is octal, and times stay text, `12:30` too. `yaml`: the parser, which is loaded where it is needed. */
export function kubernetesSchema(yaml: typeof import('js-yaml')): Schema {
  const withoutColons = <Value>(tag: ScalarTagDefinition<Value>): ScalarTagDefinition<Value> => ({
    ...tag,
    resolve: (source, ...context) => (source.includes(':') ? yaml.NOT_RESOLVED : tag.resolve(source, ...context)),
  })
  return new yaml.Schema([
    ...yaml.FAILSAFE_SCHEMA.tags,
    yaml.nullYaml11Tag,
    yaml.boolYaml11Tag,
    withoutColons(yaml.intYaml11Tag),
    withoutColons(yaml.floatYaml11Tag),
    yaml.mergeTag,
  ])
}
