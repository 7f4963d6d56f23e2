import { join } from 'node:path'
import { readInputText } from '../shared/config/input.ts'
import { ConfigError } from '../shared/config/option.ts'
import { inOneSentence } from '../shared/config/system-errors.ts'
import { readRegularFile } from '../shared/files/regular-file.ts'
import type { KeyPair } from '../shared/pki/certificate.ts'

export interface SigningFiles {
  /** PEM files; empty: those of the folder. */
  clusterSigningCertFile: string
  clusterSigningKeyFile: string
  /** Names a folder with `ca.crt` and `ca.key`, perhaps of another cluster. */
  certDir: string
}

/**
 * Returns the CA; undefined if there is no key. The folder's is taken only for the cluster that `trusted`, a PEM text,
 * belongs to.
 */
export function signingCa(files: SigningFiles, trusted = ''): KeyPair | undefined {
  const { clusterSigningCertFile: certFile, clusterSigningKeyFile: keyFile, certDir } = files
  if (!certFile !== !keyFile)
    throw new ConfigError('--cluster-signing-cert-file and --cluster-signing-key-file go together')
  if (certFile)
    return { cert: pem('--cluster-signing-cert-file', certFile), key: pem('--cluster-signing-key-file', keyFile) }
  const found = caIn(certDir)
  return found && trusted.includes(found.cert.trim()) ? found : undefined
}

/** Throws a ConfigError that names the flag. */
export function pem(flag: string, file: string): string {
  try {
    return readInputText(file)
  } catch (error) {
    throw inOneSentence(error as Error, { place: `${flag} ${file}` }) ?? error
  }
}

function caIn(directory: string): KeyPair | undefined {
  try {
    const read = (name: string): string => readRegularFile(join(directory, name))
    return { cert: read('ca.crt'), key: read('ca.key') }
  } catch {
    return undefined
  }
}
