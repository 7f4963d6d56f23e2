import type { DumpOptions, ScalarTagDefinition, Schema } from 'js-yaml'
import { exactInteger, int64Min } from './exact-json.ts'

/**
 * YAML 1.1 as Kubernetes reads it: `yes` is true, `0644` is octal, and times stay text, `12:30` too. `yaml`: the
 * parser, which is loaded where it is needed. `exact`: an integer beyond 2⁵³ − 1 is a BigInt, else it is rounded.
 */
export function kubernetesSchema(yaml: typeof import('js-yaml'), { exact = false } = {}): Schema {
  const withoutColons = <Value>(tag: ScalarTagDefinition<Value>): ScalarTagDefinition<Value> => ({
    ...tag,
    resolve: (source, ...context) => (source.includes(':') ? yaml.NOT_RESOLVED : tag.resolve(source, ...context)),
  })
  return new yaml.Schema([
    ...yaml.FAILSAFE_SCHEMA.tags,
    yaml.nullYaml11Tag,
    yaml.boolYaml11Tag,
    withoutColons(exact ? exactTag(yaml.intYaml11Tag) : yaml.intYaml11Tag),
    withoutColons(yaml.floatYaml11Tag),
    yaml.mergeTag,
  ])
}

const uint64Max = 2n ** 64n - 1n

/** Integers to their last digit, as far as Go reads them as integers. */
const exactTag = (tag: ScalarTagDefinition<number>): ScalarTagDefinition<number | bigint> => ({
  ...tag,
  resolve(source, ...context) {
    const value = tag.resolve(source, ...context)
    if (typeof value !== 'number' || Number.isSafeInteger(value) || Math.abs(value) > 2 ** 64) return value
    const integer = integerOf(source)
    return integer > uint64Max || integer < int64Min ? value : exactInteger(integer)
  },
})

/** The digits of YAML 1.1, which has `_` between them, and `0` before octal ones. */
function integerOf(source: string): bigint {
  const [, sign, zero, digits = ''] = /^([-+]?)(0(?=[0-7]))?(.*)$/.exec(source.replaceAll('_', '')) ?? []
  const value = BigInt(zero ? `0o${digits}` : digits)
  return sign === '-' ? -value : value
}

/** Returns the options with which objects are written as YAML. An integer may be a BigInt. */
export function dumpOptions({ DUMP_SCHEMA, intYaml11Tag }: typeof import('js-yaml')): DumpOptions {
  const tag = DUMP_SCHEMA.tags.find(({ tagName }) => tagName === intYaml11Tag.tagName) as ScalarTagDefinition
  const exact = { ...tag, identify: (value: unknown) => typeof value === 'bigint' || tag.identify!(value) }
  return { schema: DUMP_SCHEMA.withTags(exact), lineWidth: -1, sortKeys: true, seqNoIndent: true, quoteStyle: 'double' }
}
