import { type OptionType, option, type Values } from '../../shared/config/option.ts'
import { duration, readEntry, textMap, wholeNumber } from '../../shared/config/option-types.ts'
import type { EvictionConfig } from './eviction-manager.ts'
import { defaultHard, parseAmount, parseThresholds, signalOf } from './thresholds.ts'

/** Returns an option type with one entry per signal; each entry is checked as it is read. */
function bySignal<Value>(
  placeholder: string,
  read: (text: string) => Value,
  show: (value: Value) => string | undefined = String,
): OptionType<Record<string, Value>> {
  const checked = (texts: Record<string, string>): Record<string, Value> =>
    Object.fromEntries(Object.entries(texts).map(([name, text]) => [signalOf(name), readEntry(name, text, read)]))
  return {
    placeholder,
    schema: textMap.schema,
    fromText: (text, soFar = {}) => ({ ...soFar, ...checked(textMap.fromText(text)) }),
    fromFile: (value) => checked(textMap.fromFile(value)),
    show: (values) =>
      Object.entries(values)
        .map(([name, value]) => `${name}=${show(value)}`)
        .join(',') || undefined,
  }
}
const amounts = bySignal('SIGNAL=AMOUNT', (text) => {
  parseAmount(text)
  return text
})
const durations = bySignal('SIGNAL=DURATION', (text) => duration.fromText(text), duration.show)

/** Defines when the kubelet evicts pods because its node runs short of a resource. The names are upstream's. */
export const evictionOptions = {
  evictionHard: option(amounts, {
    default: {},
    help: 'Evict pods when a node has less, as memory.available=100Mi; what is not given here or below is not measured; repeatable',
  }),
  evictionSoft: option(amounts, {
    default: {},
    help: 'Soft thresholds: evict only after the grace period; repeatable',
  }),
  evictionSoftGracePeriod: option(durations, { default: {}, help: 'How long, for each of evictionSoft; repeatable' }),
  evictionMaxPodGracePeriod: option(wholeNumber({ min: 0, max: 86_400, placeholder: 'SECONDS' }), {
    default: 0,
    help: 'What pods evicted by evictionSoft have at most to end',
  }),
  evictionMinimumReclaim: option(amounts, {
    default: {},
    help: 'So much more than the threshold ends an eviction; repeatable',
  }),
  evictionPressureTransitionPeriod: option(duration, {
    default: 300_000,
    help: "How long the node's pressure conditions stay after their cause has gone",
  }),
}

/** Throws an Error that says what does not fit together. */
export function evictionConfig(values: Values<typeof evictionOptions>): EvictionConfig {
  const { evictionHard, evictionSoft } = values
  return {
    thresholds: parseThresholds({
      hard: { ...defaultHard, ...evictionHard },
      soft: evictionSoft,
      softGraceMs: values.evictionSoftGracePeriod,
      minimumReclaim: values.evictionMinimumReclaim,
    }),
    measured: new Set(Object.keys({ ...evictionHard, ...evictionSoft })),
    maxPodGracePeriodSeconds: values.evictionMaxPodGracePeriod,
    pressureTransitionPeriodMs: values.evictionPressureTransitionPeriod,
  }
}
