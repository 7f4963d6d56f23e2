import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'

/** Holds both keys as PEM. */
interface KeyPair {
  privateKey: string
  publicKey: string
}

export interface KeyPairSource {
  /** The one that may have signed tokens already. */
  kept(): KeyPair | undefined
  /** Makes a key if none exists. For RSA it takes a tenth of a second. */
  make(): Promise<KeyPair>
}

export type SigningAlgorithm = 'RS256' | 'ES256'

/** Holds the key pair that signs tokens, and the algorithm and ID that let others verify them. */
export interface SigningKey {
  privateKey: KeyObject
  publicKey: KeyObject
  algorithm: SigningAlgorithm
  /** Holds the ID in a token's header: the hash of the public key. */
  id: string
}

export function readSigningKey({ privateKey, publicKey }: KeyPair): SigningKey {
  const key = createPublicKey(publicKey)
  const der = key.export({ type: 'spki', format: 'der' })
  return {
    privateKey: createPrivateKey(privateKey),
    publicKey: key,
    algorithm: key.asymmetricKeyType === 'rsa' ? 'RS256' : 'ES256',
    id: createHash('sha256').update(der).digest('base64url'),
  }
}

/** RFC 7517, as served under /openid/v1/jwks. */
export const keySet = ({ publicKey, algorithm, id }: SigningKey) => ({
  keys: [{ use: 'sig', ...publicKey.export({ format: 'jwk' }), kid: id, alg: algorithm }],
})
