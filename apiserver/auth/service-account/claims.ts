import type { KubeObject } from '../../../shared/api/types.ts'
import type { Lookup } from '../../kind/lookup.ts'
import type { User } from '../../kind/user.ts'

/** Name and UID of an object; an absent node has no UID. */
export interface Reference {
  name: string
  uid?: string
}

export interface TokenSubject {
  namespace: string
  serviceaccount: Reference
  pod?: Reference
  secret?: Reference
  node?: Reference
}

/** Holds the claims of a service account's token. Times are in seconds since 1970. */
export interface Claims {
  aud: string[]
  exp: number
  iat: number
  nbf: number
  iss: string
  jti: string
  sub: string
  'kubernetes.io': TokenSubject & {
    /** From then on its use is a reason for concern, though not for refusal. */
    warnafter?: number
  }
}

/** Deletion counts only after this while. */
const leewayMs = 60_000

/**
 * Returns the user that a token stands for. Throws an Error, with upstream's text, if the token has expired, is not
 * valid yet, or is bound to an object that is gone. Upstream: pkg/serviceaccount/claims.go.
 */
export function bearerOf(claims: Claims, lookup: Lookup, nowMs: number): User {
  if (nowMs >= claims.exp * 1000 + leewayMs) throw new Error('service account token has expired')
  if (nowMs < claims.nbf * 1000 - leewayMs) throw new Error('service account token is not valid yet')
  const { namespace, serviceaccount, pod, secret, node } = claims['kubernetes.io']
  const account = lookup(core('serviceaccounts'), namespace, serviceaccount.name)
  if (!account) throw new Error(`serviceaccounts "${serviceaccount.name}" not found`)
  if (account.metadata.uid !== serviceaccount.uid) {
    throw new Error(`service account UID (${account.metadata.uid}) does not match claim (${serviceaccount.uid})`)
  }
  if (isDeleted(account, nowMs)) throw new Error(`service account ${namespace}/${serviceaccount.name} has been deleted`)
  const check = (kind: string, resource: string, reference: Reference | undefined, scope?: string): void => {
    if (!reference) return
    const found = lookup(core(resource), scope, reference.name)
    if (!found || isDeleted(found, nowMs)) throw new Error('service account token has been invalidated')
    if (found.metadata.uid === reference.uid) return
    const claim = `service account ${kind.toLowerCase()} ref claim (${reference.uid})`
    throw new Error(`${kind} UID (${found.metadata.uid}) does not match ${claim}`)
  }
  check('secret', 'secrets', secret, namespace)
  check('pod', 'pods', pod, namespace)
  // The node of a pod's token is news, not a condition.
  if (!pod) check('node', 'nodes', node)
  return {
    name: claims.sub,
    uid: serviceaccount.uid,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
    extra: extraOf(claims),
  }
}

const core = (plural: string) => ({ group: '', plural })

const isDeleted = ({ metadata }: KubeObject, nowMs: number): boolean =>
  metadata.deletionTimestamp !== undefined && Date.parse(metadata.deletionTimestamp) < nowMs - leewayMs

function extraOf({ jti, 'kubernetes.io': { pod, node } }: Claims): NonNullable<User['extra']> {
  const facts = {
    'credential-id': jti && `JTI=${jti}`,
    'node-name': node?.name,
    'node-uid': node?.uid,
    'pod-name': pod?.name,
    'pod-uid': pod?.uid,
  }
  return Object.fromEntries(
    Object.entries(facts).flatMap(([name, value]) =>
      value ? [[`authentication.kubernetes.io/${name}`, [value]]] : [],
    ),
  )
}
