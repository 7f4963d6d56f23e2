import { timingSafeEqual } from 'node:crypto'
import { canonicalTime } from '../clock/go-time.ts'
import { parseTime } from '../clock/timestamp.ts'
import type { KubeObject } from './types.ts'

/** A Secret that is a bootstrap token. Upstream: k8s.io/cluster-bootstrap/token/api. */
export interface BootstrapTokenSecret extends KubeObject {
  type?: string
  /** Values in base64. */
  data?: Record<string, string>
}

export const bootstrapTokenType = 'bootstrap.kubernetes.io/token'
export const bootstrapTokenNamespace = 'kube-system'
export const bootstrappersGroup = 'system:bootstrappers'
/** Matches further groups that a token may have. */
export const bootstrappersForm = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/
/** The group of tokens that join nodes; roles are bound to it as kubeadm binds them. */
export const nodeTokenGroup = 'system:bootstrappers:kubeadm:default-node-token'

/** Shows the form of a token in messages: its public ID and its secret. */
export const tokenForm = '[a-z0-9]{6}.[a-z0-9]{16}'

export interface BootstrapToken {
  id: string
  secret: string
}

/** `abcdef.0123456789abcdef`; undefined for what is no token. */
export function parseToken(text: string): BootstrapToken | undefined {
  const [, id, secret] = /^([a-z0-9]{6})\.([a-z0-9]{16})$/.exec(text) ?? []
  return id !== undefined && secret !== undefined ? { id, secret } : undefined
}

/** Compares in a time that does not tell how much of the texts is the same. */
export function isSameSecret(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}

const namePrefix = 'bootstrap-token-'
const nameForm = /^bootstrap-token-([a-z0-9]{6})$/

export const secretNameOf = (tokenId: string): string => namePrefix + tokenId
/** Returns the token ID in a Secret's name; undefined for a name that no token's Secret has. */
export const tokenIdOf = (secretName: string): string | undefined => nameForm.exec(secretName)?.[1]

/** '' for a key that is missing. */
export const tokenValue = ({ data }: BootstrapTokenSecret, key: string): string =>
  Buffer.from(data?.[key] ?? '', 'base64').toString()

/**
 * Milliseconds until the token expires: Infinity without an expiration, 0 when it is past or is no time in RFC 3339.
 */
export function tokenTimeLeftMs(secret: BootstrapTokenSecret, nowMs: number): number {
  const expiration = tokenValue(secret, 'expiration')
  if (expiration === '') return Number.POSITIVE_INFINITY
  try {
    return Math.max(0, parseTime(canonicalTime(expiration)) - nowMs)
  } catch {
    return 0
  }
}
