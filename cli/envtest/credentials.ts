import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import { createSecureContext } from 'node:tls'
import { readInputText } from '../../shared/config/input.ts'
import { ConfigError } from '../../shared/config/option.ts'
import type { KeyPair } from '../../shared/pki/certificate.ts'
import type { ClusterPki } from '../../shared/pki/cluster-pki.ts'
import { readIfExists, writePrivately } from '../../shared/pki/files.ts'
import type { SigningKeySource } from '../../shared/pki/signing-key.ts'
import type { KubeApiserverSettings } from './kube-apiserver-flags.ts'

// All throw a ConfigError that names the flag.

/** The pair that is there, or ours, put where clients look for it. */
export function servingPair({ certDir, certFile, keyFile }: KubeApiserverSettings, pki: ClusterPki): KeyPair {
  if (certFile && keyFile)
    return readPair('--tls-cert-file and --tls-private-key-file', { cert: certFile, key: keyFile })
  const files = { cert: join(certDir, 'apiserver.crt'), key: join(certDir, 'apiserver.key') }
  if (readIfExists(files.cert) && readIfExists(files.key)) return readPair('--cert-dir', files)
  const made = { cert: pki.apiServer.cert + pki.ca.cert, key: pki.apiServer.key }
  writePrivately(files.key, made.key)
  writePrivately(files.cert, made.cert)
  return made
}

/**
 * Returns the certificates of `--client-ca-file` in PEM, or an empty text without the flag. Throws a ConfigError if the
 * file has no certificate.
 */
export function clientCertificates({ clientCaFile: file }: KubeApiserverSettings): string {
  if (!file) return ''
  const read = (): string => {
    const text = readInputText(file)
    new X509Certificate(text)
    return text
  }
  return explained(read, `--client-ca-file: ${file} has no certificates in PEM`)
}

/**
 * Returns the key pair that signs tokens, from `--service-account-signing-key-file`; undefined without the flag. Throws
 * a ConfigError if the file has no private key.
 */
export function signingKey({ signingKeyFile: file }: KubeApiserverSettings): SigningKeySource | undefined {
  if (!file) return undefined
  const read = (): SigningKeySource => {
    const privateKey = readInputText(file)
    const publicKey = createPublicKey(createPrivateKey(privateKey)).export({ type: 'spki', format: 'pem' }).toString()
    const pair = { privateKey, publicKey }
    return { kept: () => pair, make: async () => pair }
  }
  return explained(read, `--service-account-signing-key-file: ${file} has no private key in PEM`)
}

function readPair(flags: string, { cert, key }: KeyPair): KeyPair {
  const read = (): KeyPair => {
    const pair = { cert: readInputText(cert), key: readInputText(key) }
    createSecureContext(pair)
    return pair
  }
  return explained(read, `${flags}: ${cert} and ${key} are not a certificate in PEM and its key`)
}

function explained<Value>(read: () => Value, otherwise: string): Value {
  try {
    return read()
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    throw new ConfigError(/^E[A-Z]+$/.test(code) ? `${otherwise}: ${message}` : otherwise)
  }
}
