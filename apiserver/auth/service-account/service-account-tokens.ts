import { randomUUID } from 'node:crypto'
import type { ObjectMeta } from '../../../shared/api/types.ts'
import type { Clock } from '../../../shared/clock/clock.ts'
import type { Lookup } from '../../kind/lookup.ts'
import type { User } from '../../kind/user.ts'
import { bearerOf, type Claims, type TokenSubject } from './claims.ts'
import { isSignedBy, readClaims, signToken } from './json-web-token.ts'
import { lastUsedLabel, legacyBearer, legacyIssuer } from './legacy-token.ts'
import { type KeyPairSource, readSigningKey, type SigningKey } from './signing-key.ts'

/** Audiences of tokens that are valid for the API, besides the issuer. */
const knownAudiences = ['https://kubernetes.default.svc.cluster.local', 'https://kubernetes.default.svc']

export interface Authenticated {
  user: User
  audiences: string[]
}

export interface ServiceAccountTokens {
  /** The URL under which the server tells how its tokens are checked; a token that names no audience is for it. */
  issuer(): string
  /** Returns whether a token for these audiences is valid at the API. */
  isForApi(audiences: readonly string[]): boolean
  /** The key; made when there is none yet. */
  key(): Promise<SigningKey>
  /** Resolves when no key is being made any more: its files are there, or will never be. */
  settled(): Promise<void>
  /** `warnAfterSeconds`: the token lives longer than the bearer should rely on. */
  issue(subject: TokenSubject, options: TokenOptions): Promise<string>
  /**
   * The bearer, and those of `audiences` (default: the API's) that the token is for; undefined for text that is not
   * ours. Throws an Error that says why a token of this cluster is no longer valid.
   */
  authenticate(token: string, audiences?: readonly string[]): Authenticated | undefined
}

export interface TokenOptions {
  audiences: readonly string[]
  seconds: number
  warnAfterSeconds?: number
  jti?: string
}

/** Tokens whose signature was found right. */
const maxVerified = 1000

export interface TokenIssuerOptions {
  issuer: () => string
  keyPair: KeyPairSource
  lookup: Lookup
  clock: Clock
  /** Writes the date on which a token that is kept in a Secret was last used; at most once a day for each. */
  label(secret: ObjectMeta, labels: Record<string, string>): void
}

/** Signs tokens with the cluster's key, and checks them against the objects that they name. */
export class TokenIssuer implements ServiceAccountTokens {
  readonly #options: TokenIssuerOptions
  readonly #verified = new Map<string, Claims>()
  #loaded: SigningKey | undefined
  #loading: Promise<SigningKey> | undefined

  constructor(options: TokenIssuerOptions) {
    this.#options = options
    const kept = options.keyPair.kept()
    this.#loaded = kept && readSigningKey(kept)
  }

  issuer(): string {
    return this.#options.issuer()
  }

  isForApi(audiences: readonly string[]): boolean {
    const meant = this.#apiAudiences()
    return audiences.every((audience) => meant.includes(audience))
  }

  async key(): Promise<SigningKey> {
    if (this.#loaded) return this.#loaded
    this.#loading ??= this.#options.keyPair.make().then(readSigningKey)
    this.#loaded = await this.#loading
    return this.#loaded
  }

  async settled(): Promise<void> {
    await this.#loading?.catch(() => {}) // reported to the request that asked for it
  }

  async issue(
    { namespace, serviceaccount, pod, secret, node }: TokenSubject,
    { audiences, seconds, warnAfterSeconds, jti = randomUUID() }: TokenOptions,
  ): Promise<string> {
    const now = Math.floor(this.#options.clock.now() / 1000)
    const claims: Claims = {
      aud: [...audiences],
      exp: now + seconds,
      iat: now,
      nbf: now,
      iss: this.issuer(),
      jti,
      sub: `system:serviceaccount:${namespace}:${serviceaccount.name}`,
      'kubernetes.io': {
        namespace,
        serviceaccount,
        ...(pod && { pod }),
        ...(secret && { secret }),
        ...(node && { node }),
        ...(warnAfterSeconds !== undefined && { warnafter: now + warnAfterSeconds }),
      },
    }
    return signToken(await this.key(), claims)
  }

  authenticate(token: string, audiences: readonly string[] = this.#apiAudiences()): Authenticated | undefined {
    const claims = this.#claimsOf(token)
    if (!claims) return undefined
    const isLegacy = claims.iss === legacyIssuer
    const aud = isLegacy ? this.#apiAudiences() : claims.aud
    const meant = audiences.filter((audience) => aud.includes(audience))
    if (meant.length === 0) {
      const shown = (list: readonly string[]) => `[${list.map((audience) => JSON.stringify(audience)).join(' ')}]`
      throw new Error(`token audiences ${shown(aud)} is invalid for the target audiences ${shown(audiences)}`)
    }
    if (isLegacy) return this.#legacy(token, claims, meant)
    return { user: bearerOf(claims, this.#options.lookup, this.#options.clock.now()), audiences: meant }
  }

  #apiAudiences(): string[] {
    return [this.issuer(), ...knownAudiences]
  }

  /** Before the first key is made, no token of this cluster exists. */
  #claimsOf(token: string): Claims | undefined {
    const known = this.#verified.get(token)
    if (known) return known
    const claims = readClaims(token) as unknown as Claims | undefined
    if (claims?.iss !== this.issuer() && claims?.iss !== legacyIssuer) return undefined
    if (!this.#loaded || !isSignedBy(this.#loaded, token)) return undefined
    if (this.#verified.size >= maxVerified) this.#verified.clear()
    this.#verified.set(token, claims)
    return claims
  }

  #legacy(token: string, claims: Claims, audiences: readonly string[]): Authenticated {
    const { lookup, clock, label } = this.#options
    const { user, secret } = legacyBearer(token, { ...claims }, lookup)
    const labels = lastUsedLabel(secret, clock.now())
    if (labels) label(secret.metadata, labels)
    return { user, audiences: [...audiences] }
  }
}
