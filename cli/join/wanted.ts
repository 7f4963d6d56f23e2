import { type BootstrapToken, parseToken, tokenForm } from '../../shared/api/bootstrap-token.ts'
import { option, UsageError } from '../../shared/config/option.ts'
import { flag, names, text } from '../../shared/config/option-types.ts'

/** Defines the flags of `kubestage join` about discovery; their names are kubeadm's. */
export const discoveryOptions = {
  token: option(
    { ...text, placeholder: 'TOKEN' },
    { default: '', help: 'Bootstrap token; a node that has joined before needs none' },
  ),
  discoveryTokenCaCertHash: option(
    { ...names, placeholder: 'sha256:HEX,…' },
    { default: [], help: "Hash of the public key of the cluster's CA; repeatable" },
  ),
  caCertHash: option({ ...names, placeholder: 'sha256:HEX,…' }, { default: [], help: 'The same, in a shorter word' }),
  discoveryTokenUnsafeSkipCaVerification: option(flag, {
    default: false,
    help: 'Join without the hash: each holder of the token could then pretend to be the cluster',
  }),
}

export interface Wanted {
  /** Lists URLs. */
  servers: string[]
  token?: BootstrapToken
  /** `sha256:` with 64 digits. */
  pins: string[]
}

interface Words {
  token: string
  discoveryTokenCaCertHash: readonly string[]
  caCertHash: readonly string[]
}

/** Reads the arguments of `kubestage join`. Throws a UsageError if a server, the token or a hash is malformed. */
export function wantedBy(
  places: readonly string[],
  { token: text, discoveryTokenCaCertHash, caCertHash }: Words,
): Wanted {
  const token = text ? parseToken(text) : undefined
  if (text && !token) throw new UsageError(`--token is not of the form ${tokenForm}`)
  return {
    servers: places.map(urlOf),
    ...(token && { token }),
    pins: [...discoveryTokenCaCertHash, ...caCertHash].map(pinOf),
  }
}

/** `HOST:PORT`, or the URL. */
function urlOf(place: string): string {
  const url = URL.parse(place.includes('://') ? place : `https://${place}`)
  const isWhole = place.includes('://') || /:\d+$/.test(place)
  if (url?.protocol === 'https:' && isWhole && /^\/?$/.test(url.pathname) && !url.search && !url.hash) return url.origin
  throw new UsageError(`invalid API server address ${JSON.stringify(place)}; use HOST:PORT, such as 192.0.2.10:6443`)
}

function pinOf(text: string): string {
  if (/^sha256:[0-9a-f]{64}$/i.test(text)) return text.toLowerCase()
  throw new UsageError(`the hash of a CA is sha256: and 64 hexadecimal digits, not ${JSON.stringify(text)}`)
}
