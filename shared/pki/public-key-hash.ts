import { createHash, X509Certificate } from 'node:crypto'

const certificates = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g

/**
 * `sha256:…` of the public key (SubjectPublicKeyInfo) of each certificate in a PEM text, as kubeadm pins a cluster's
 * CA. Throws for a certificate that cannot be read.
 */
export const publicKeyHashes = (pem: string): string[] =>
  (pem.match(certificates) ?? []).map((text) => {
    const key = new X509Certificate(text).publicKey.export({ type: 'spki', format: 'der' })
    return `sha256:${createHash('sha256').update(key).digest('hex')}`
  })
