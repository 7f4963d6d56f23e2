import { bitString } from './der.ts'

/** Names a key usage as `spec.usages` of a CertificateSigningRequest does. */
export type KeyUsage = keyof typeof keyUsages
export type ExtendedUsage = keyof typeof oids.purposes

/** Object identifiers of X.509 (RFC 5280), PKCS #10 (RFC 2986) and the signatures we know. */
export const oids = {
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  extensionRequest: '1.2.840.113549.1.9.14',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  purposes: {
    any: '2.5.29.37.0',
    'server auth': '1.3.6.1.5.5.7.3.1',
    'client auth': '1.3.6.1.5.5.7.3.2',
    'code signing': '1.3.6.1.5.5.7.3.3',
    'email protection': '1.3.6.1.5.5.7.3.4',
    's/mime': '1.3.6.1.5.5.7.3.4',
    'ipsec end system': '1.3.6.1.5.5.7.3.5',
    'ipsec tunnel': '1.3.6.1.5.5.7.3.6',
    'ipsec user': '1.3.6.1.5.5.7.3.7',
    timestamping: '1.3.6.1.5.5.7.3.8',
    'ocsp signing': '1.3.6.1.5.5.7.3.9',
    'microsoft sgc': '1.3.6.1.4.1.311.10.3.3',
    'netscape sgc': '2.16.840.1.113730.4.1',
  },
}

/** Signature algorithms, and the digest that node:crypto wants for each; Ed25519 takes none. */
export const digests: Record<string, 'sha256' | 'sha384' | 'sha512' | null> = {
  '1.2.840.10045.4.3.2': 'sha256',
  '1.2.840.10045.4.3.3': 'sha384',
  '1.2.840.10045.4.3.4': 'sha512',
  '1.2.840.113549.1.1.11': 'sha256',
  '1.2.840.113549.1.1.12': 'sha384',
  '1.2.840.113549.1.1.13': 'sha512',
  '1.3.101.112': null,
}

/** Bits of KeyUsage (RFC 5280, 4.2.1.3), the first bit highest. */
const keyUsages = {
  'digital signature': 0x8000,
  signing: 0x8000,
  'content commitment': 0x4000,
  'key encipherment': 0x2000,
  'data encipherment': 0x1000,
  'key agreement': 0x0800,
  'cert sign': 0x0400,
  'crl sign': 0x0200,
  'encipher only': 0x0100,
  'decipher only': 0x0080,
}

export const isKeyUsage = (usage: string): usage is KeyUsage => Object.hasOwn(keyUsages, usage)
export const isExtendedUsage = (usage: string): usage is ExtendedUsage => Object.hasOwn(oids.purposes, usage)

/** A named bit list: DER wants it without its trailing zeros. */
export function keyUsageBits(usages: readonly KeyUsage[]): Buffer {
  const bits = usages.reduce((sum, usage) => sum | keyUsages[usage], 0)
  const bytes = bits & 0xff ? [bits >> 8, bits & 0xff] : [bits >> 8]
  const unused = Math.log2(bytes.at(-1)! & -bytes.at(-1)!)
  return bitString(Buffer.from(bytes), unused)
}
