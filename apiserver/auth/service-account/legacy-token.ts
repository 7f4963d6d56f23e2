import { timingSafeEqual } from 'node:crypto'
import type { KubeObject } from '../../../shared/api/types.ts'
import type { Lookup } from '../../kind/lookup.ts'
import type { User } from '../../kind/user.ts'

/** The issuer of tokens that kube-controller-manager writes into Secrets: they name no audience and no end. */
export const legacyIssuer = 'kubernetes/serviceaccount'

const prefix = 'kubernetes.io/serviceaccount/'
const core = (plural: string) => ({ group: '', plural })
const invalidSince = 'kubernetes.io/legacy-token-invalid-since'

interface TokenSecret extends KubeObject {
  /** Values in base64. */
  data?: Record<string, string>
}

/**
 * Returns the user of a token from a Secret, together with the Secret. Throws an Error, with upstream's text, if the
 * token is not valid or not valid any more. Upstream: pkg/serviceaccount/legacy.go.
 */
export function legacyBearer(
  token: string,
  claims: Readonly<Record<string, unknown>>,
  lookup: Lookup,
): { user: User; secret: KubeObject } {
  const claim = (key: string, name: string): string => {
    const value = claims[key]
    if (typeof value === 'string' && value !== '') return value
    throw new Error(`${name} claim is missing`)
  }
  const subject = claim('sub', 'sub')
  const namespace = claim(`${prefix}namespace`, 'namespace')
  const secretName = claim(`${prefix}secret.name`, 'secretName')
  const name = claim(`${prefix}service-account.name`, 'serviceAccountName')
  const uid = claim(`${prefix}service-account.uid`, 'serviceAccountUID')
  if (subject !== `system:serviceaccount:${namespace}:${name}`) throw new Error('sub claim is invalid')
  const secret: TokenSecret | undefined = lookup(core('secrets'), namespace, secretName)
  if (!secret || secret.metadata.deletionTimestamp) throw new Error('Token has been invalidated')
  if (!isSame(Buffer.from(secret.data?.token ?? '', 'base64'), Buffer.from(token)))
    throw new Error("Token does not match server's copy")
  const account = lookup(core('serviceaccounts'), namespace, name)
  if (!account) throw new Error(`serviceaccounts "${name}" not found`)
  if (account.metadata.deletionTimestamp) throw new Error(`ServiceAccount ${namespace}/${name} has been deleted`)
  if (account.metadata.uid !== uid)
    throw new Error(`ServiceAccount UID (${account.metadata.uid}) does not match claim (${uid})`)
  if (secret.metadata.labels?.[invalidSince])
    throw new Error(
      `the token in secret ${namespace}/${secretName} for service account ${namespace}/${name} has been marked invalid. ` +
        'Use tokens from the TokenRequest API or manually created secret-based tokens, ' +
        `or remove the '${invalidSince}' label from the secret to temporarily allow use of this token`,
    )
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated']
  return { user: { name: subject, uid, groups }, secret }
}

const isSame = (one: Buffer, other: Buffer): boolean => one.length === other.length && timingSafeEqual(one, other)

const lastUsed = 'kubernetes.io/legacy-token-last-used'
const dayMs = 86_400_000

/** The label that the Secret of a token used now lacks; undefined when it says so already. */
export function lastUsedLabel({ metadata }: KubeObject, nowMs: number): Record<string, string> | undefined {
  const date = (ms: number): string => new Date(ms).toISOString().slice(0, 10)
  const known = metadata.labels?.[lastUsed]
  return known === date(nowMs) || known === date(nowMs + dayMs) ? undefined : { [lastUsed]: date(nowMs) }
}
