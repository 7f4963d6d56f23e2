import { isDeepStrictEqual } from 'node:util'
import { ConfigError, flagOf, type Options, type OptionType } from '../../shared/config/option.ts'
import { serverProgramOptions } from '../server-program.ts'
import type { ClusterSettings } from '../settings.ts'

/** Holds the values that differ between the API servers of a cluster. */
export interface OwnValues {
  config: string
  port: number
  /** The text is empty if no other server has the port. */
  ownPort: number | ''
  certDir: string
  kubeconfig: string
  storage: string
  etcdCafile: string
  etcdCertfile: string
  etcdKeyfile: string
  timeOrigin: string
}

/**
 * Returns the flags of `kubestage apiserver` for a further server of a cluster: its own values, and the settings that
 * differ from the defaults.
 */
export function serverFlags(settings: ClusterSettings, own: OwnValues): string[] {
  const values = settings as unknown as Record<string, unknown>
  const chosen = Object.entries(serverProgramOptions as Options).filter(
    ([name, { default: usual }]) =>
      Object.hasOwn(values, name) && !Object.hasOwn(own, name) && !isDeepStrictEqual(values[name], usual),
  )
  return [
    ...Object.entries(own).flatMap(([name, value]) => (value === '' ? [] : [`${flagOf(name)}=${value}`])),
    ...chosen.flatMap(([name, { type }]) => textsOf(name, values[name], type).map((text) => `${flagOf(name)}=${text}`)),
  ]
}

/** Returns the value as a command line has it, once or several times. Throws a ConfigError where it cannot. */
function textsOf(name: string, value: unknown, type: OptionType<unknown>): string[] {
  const forms = [[type.show?.(value)], Array.isArray(value) ? value : [value], [`${value}ms`]]
  const fits = forms.find(
    (texts) => texts.every((text) => text !== undefined) && isRead(texts.map(String), value, type),
  )
  if (!fits) throw new ConfigError(`--apiservers: ${flagOf(name)} cannot be passed to the other servers`)
  return fits.map(String)
}

function isRead(texts: readonly string[], value: unknown, type: OptionType<unknown>): boolean {
  try {
    const read = texts.reduce<unknown>((soFar, text) => type.fromText(text, soFar), undefined)
    return isDeepStrictEqual(read, value)
  } catch {
    return false
  }
}
