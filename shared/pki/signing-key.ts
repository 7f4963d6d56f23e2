import { createPublicKey, generateKeyPair as generateKeyPairWithCallback } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ConfigError } from '../config/option.ts'
import { readIfExists, writePrivately } from './files.ts'

/** Holds both keys in PEM. */
export interface SigningKeyPair {
  privateKey: string
  publicKey: string
}

/** The key with which service-account tokens are signed, and its public half. */
export interface SigningKeySource {
  /** The one of an earlier start, if there was any. Throws a ConfigError where its files are damaged. */
  kept(): SigningKeyPair | undefined
  /**
   * A new one, which is kept. Takes a tenth of a second, beside the main thread; rejects when the folder has been
   * removed meanwhile.
   */
  make(): Promise<SigningKeyPair>
}

const generateKeyPair = promisify(generateKeyPairWithCallback)

export function signingKeyIn(directory: string): SigningKeySource {
  const files = { privateKey: join(directory, 'sa.key'), publicKey: join(directory, 'sa.pub') }
  return {
    kept() {
      const privateKey = readIfExists(files.privateKey)
      const publicKey = readIfExists(files.publicKey)
      if (privateKey === undefined && publicKey === undefined) return undefined
      const pair = { privateKey, publicKey }
      if (arePair(pair)) return pair
      throw new ConfigError(
        `${files.privateKey} and ${files.publicKey} are damaged, or do not belong together: restore both, or remove both; tokens of service accounts that were issued before are then no longer valid`,
      )
    },
    async make() {
      const pair = await generateKeyPair('rsa', {
        modulusLength: 2048,
        publicKeyEncoding: { type: 'spki', format: 'pem' },
        privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      })
      if (!existsSync(directory)) throw new Error(`${directory} no longer exists`)
      writePrivately(files.privateKey, pair.privateKey)
      writePrivately(files.publicKey, pair.publicKey)
      return pair
    },
  }
}

function arePair(kept: Partial<SigningKeyPair>): kept is SigningKeyPair {
  if (!kept.privateKey || !kept.publicKey) return false
  try {
    return createPublicKey(kept.privateKey).equals(createPublicKey(kept.publicKey))
  } catch {
    return false
  }
}
