import { randomInt } from 'node:crypto'
import {
  type BootstrapToken,
  type BootstrapTokenSecret,
  bootstrapTokenNamespace,
  bootstrapTokenType,
  parseToken,
  secretNameOf,
  tokenIdOf,
  tokenValue,
} from '../../shared/api/bootstrap-token.ts'
import { toTime } from '../../shared/clock/timestamp.ts'

const letters = 'abcdefghijklmnopqrstuvwxyz0123456789'
const randomText = (length: number): string => Array.from({ length }, () => letters[randomInt(letters.length)]).join('')

export const newToken = (): BootstrapToken => ({ id: randomText(6), secret: randomText(16) })
export const textOf = ({ id, secret }: BootstrapToken): string => `${id}.${secret}`

/** Holds the properties of a token that `token list` shows beside its text. */
export interface TokenFacts {
  /** Tells when the token expires, in RFC 3339; absent if it never does. */
  expires?: string
  description?: string
  usages: readonly string[]
  groups: readonly string[]
}

const usagePrefix = 'usage-bootstrap-'

/** Returns the Secret that stores the token. Upstream: cmd/kubeadm/app/apis/bootstraptoken/v1/utils.go. */
export function secretOf(
  { id, secret }: BootstrapToken,
  { expires, description, usages, groups }: TokenFacts,
): BootstrapTokenSecret & { stringData: Record<string, string> } {
  return {
    metadata: { name: secretNameOf(id), namespace: bootstrapTokenNamespace },
    type: bootstrapTokenType,
    stringData: {
      'token-id': id,
      'token-secret': secret,
      ...(expires && { expiration: expires }),
      ...(description && { description }),
      ...Object.fromEntries(usages.map((usage) => [usagePrefix + usage, 'true'])),
      ...(groups.length > 0 && { 'auth-extra-groups': groups.join(',') }),
    },
  }
}

/** Reads a token from its Secret. Returns undefined if the Secret's token is malformed. */
export function readSecret(secret: BootstrapTokenSecret): ({ token: string } & TokenFacts) | undefined {
  const value = (key: string): string => tokenValue(secret, key)
  const token = parseToken(`${value('token-id')}.${value('token-secret')}`)
  if (!token || tokenIdOf(secret.metadata.name ?? '') !== token.id) return undefined
  const usages = Object.keys(secret.data ?? {}).filter((key) => key.startsWith(usagePrefix) && value(key) === 'true')
  return {
    token: textOf(token),
    ...(value('expiration') && { expires: value('expiration') }),
    ...(value('description') && { description: value('description') }),
    usages: usages.map((key) => key.slice(usagePrefix.length)).sort(),
    groups: value('auth-extra-groups').split(',').filter(Boolean),
  }
}

/** Returns when a token with this TTL expires; undefined if the TTL is 0, so that the token never expires. */
export const expiration = (nowMs: number, ttlMs: number): string | undefined =>
  ttlMs === 0 ? undefined : toTime(nowMs + ttlMs)
