import { createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto'
import { bitString, integer, objectIdentifier, octetString, sequence, set, tagged } from './der.ts'
import { dotted, type Element, element, elements } from './der-reader.ts'
import { digests, oids } from './identifiers.ts'
import { distinguishedName, generalNames } from './names.ts'
import { fromPem, pem } from './pem.ts'
import { ecKeyText } from './private-key.ts'
import { readSubject, type Subject } from './subject.ts'

export interface SigningRequestOptions {
  commonName: string
  organizations?: readonly string[]
  /** Lists DNS names and IP addresses. */
  altNames?: readonly string[]
}

/** Describes what a PKCS #10 request (RFC 2986) asks for. */
export interface SigningRequest extends Subject {
  dnsNames: string[]
  /** Lists addresses, each as its 4 or 16 bytes in hexadecimal. */
  ipAddresses: string[]
  /** Counts mail addresses, URIs and other kinds of names. */
  otherNames: number
  /** Holds DER, to be passed on into a certificate. */
  subject: Buffer
  publicKeyInfo: Buffer
  altNames?: Buffer
}

const LABEL = 'CERTIFICATE REQUEST'
const signatureAlgorithm = sequence(objectIdentifier(oids.ecdsaWithSha256))

/** Creates a P-256 key and the request for its certificate; both are in PEM. */
export function createSigningRequest(options: SigningRequestOptions): { request: string; key: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const body = sequence(
    integer(Buffer.from([0])),
    distinguishedName(options.commonName, options.organizations),
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0, ...(options.altNames?.length ? [extensionRequest(options.altNames)] : [])),
  )
  const signature = sign('sha256', body, privateKey)
  return {
    request: pem(LABEL, sequence(body, signatureAlgorithm, bitString(signature))),
    key: ecKeyText(privateKey),
  }
}

const extensionRequest = (altNames: readonly string[]): Buffer =>
  sequence(
    objectIdentifier(oids.extensionRequest),
    set(sequence(sequence(objectIdentifier(oids.subjectAltName), octetString(generalNames(altNames))))),
  )

/** The request is well-formed, and signed with another key than it names. */
export class WrongSignature extends Error {
  readonly keyType: string | undefined
  constructor(keyType: string | undefined) {
    super('signature does not fit the key')
    this.keyType = keyType
  }
}

/** The signature cannot be checked here; a real server may know its algorithm. */
export class UnknownSignature extends Error {}

/** Reads a request in PEM. Throws where it is none, and WrongSignature or UnknownSignature. */
export function readSigningRequest(text: string): SigningRequest {
  const [body, algorithm, signature] = partsOf(text)
  const [, subject, publicKeyInfo, attributes] = children(body)
  if (!body || !signature || !subject || !publicKeyInfo) throw new Error('not a certificate request')
  checkSignature(body.whole, children(algorithm)[0], signature, publicKeyInfo.whole)
  const altNames = attributes && requestedAltNames(attributes)
  return {
    ...readSubject(subject),
    ...readAltNames(altNames),
    subject: subject.whole,
    publicKeyInfo: publicKeyInfo.whole,
    altNames: altNames?.whole,
  }
}

/**
 * Returns only the subject of a request; the signature is not checked. Throws an Error if the text is not a request.
 */
export function readRequestedSubject(text: string): Subject {
  const [, subject] = children(partsOf(text)[0])
  if (!subject) throw new Error('not a certificate request')
  return readSubject(subject)
}

function partsOf(text: string): Element[] {
  const der = fromPem(LABEL, text)
  if (!der) throw new Error(`PEM block type must be ${LABEL}`)
  return children(element(der))
}

function checkSignature(body: Buffer, algorithm: Element | undefined, signature: Element, publicKeyInfo: Buffer): void {
  const name = algorithm ? dotted(algorithm.content) : ''
  const digest = digests[name]
  if (digest === undefined) throw new UnknownSignature(`signature algorithm ${name} is not known`)
  const key = createPublicKey({ key: publicKeyInfo, type: 'spki', format: 'der' })
  if (!verify(digest, body, key, signature.content.subarray(1))) throw new WrongSignature(key.asymmetricKeyType)
}

function readAltNames(names: Element | undefined): Pick<SigningRequest, 'dnsNames' | 'ipAddresses' | 'otherNames'> {
  const all = names ? children(names) : []
  const dnsNames = all.filter(({ tag }) => tag === 0x82).map(({ content }) => content.toString('latin1'))
  const ipAddresses = all.filter(({ tag }) => tag === 0x87).map(({ content }) => content.toString('hex'))
  return { dnsNames, ipAddresses, otherNames: all.length - dnsNames.length - ipAddresses.length }
}

function requestedAltNames(attributes: Element): Element | undefined {
  for (const attribute of children(attributes)) {
    const [type, values] = children(attribute)
    if (!type || dotted(type.content) !== oids.extensionRequest) continue
    for (const extension of children(values).flatMap(children)) {
      const [name, ...value] = children(extension)
      const content = value.at(-1)?.content
      if (name && content && dotted(name.content) === oids.subjectAltName) return element(content)
    }
  }
  return undefined
}

const children = (parent: Element | undefined): Element[] => (parent ? elements(parent.content) : [])
