/** Just enough of ASN.1 to read the organizations in a certificate signing request's subject (RFC 2986). */

interface Node {
  tag: number
  content: Buffer
}

function* read(bytes: Buffer): Generator<Node> {
  for (let at = 0; at + 2 <= bytes.length; ) {
    const tag = bytes[at++]!
    let length = bytes[at++]!
    if (length >= 0x80) {
      const width = length & 0x7f
      if (width === 0 || width > 4 || at + width > bytes.length) return
      length = bytes.readUIntBE(at, width)
      at += width
    }
    yield { tag, content: bytes.subarray(at, at + length) }
    at += length
  }
}

const organizationOid = Buffer.from([0x55, 0x04, 0x0a])
const begin = '-----BEGIN CERTIFICATE REQUEST-----'

/** `request` is base64 of PEM, as in spec.request. What is no request has no organizations. */
export function organizationsOf(request: string): string[] {
  const pem = Buffer.from(request, 'base64').toString('latin1')
  const start = pem.indexOf(begin)
  if (start === -1) return []
  const der = Buffer.from(pem.slice(start + begin.length, pem.indexOf('-----END', start)), 'base64')
  const [whole] = read(der)
  const [info] = whole ? read(whole.content) : []
  const [, subject] = info ? read(info.content) : []
  const attributes = [...read(subject?.content ?? Buffer.alloc(0))].flatMap((set) => [...read(set.content)])
  return attributes.flatMap(({ content }) => {
    const [oid, value] = read(content)
    return oid?.content.equals(organizationOid) && value ? [value.content.toString('utf8')] : []
  })
}

export const hasOrganization = (request: string, name: string): boolean => organizationsOf(request).includes(name)
