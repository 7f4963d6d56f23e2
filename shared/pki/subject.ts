import { dotted, type Element, elements } from './der-reader.ts'
import { oids } from './identifiers.ts'

export interface Subject {
  /** The last of several common names: Go reads a subject this way, and all checks of a certificate must agree. */
  commonName: string
  organizations: string[]
  /** Lists other parts by object identifier. */
  otherAttributes: string[]
}

/** Reads a name (RFC 5280, 4.1.2.4) in DER. Throws on anything else. */
export function readSubject({ content }: Element): Subject {
  const attributes = elements(content)
    .flatMap((part) => elements(part.content))
    .map((attribute) => {
      const [type, value] = elements(attribute.content)
      return { type: type ? dotted(type.content) : '', value: value ? textOf(value) : '' }
    })
  const valuesOf = (wanted: string): string[] =>
    attributes.filter(({ type }) => type === wanted).map(({ value }) => value)
  return {
    commonName: valuesOf(oids.commonName).at(-1) ?? '',
    organizations: valuesOf(oids.organization),
    otherAttributes: attributes
      .map(({ type }) => type)
      .filter((type) => type !== oids.commonName && type !== oids.organization),
  }
}

const [teletexString, universalString, bmpString] = [0x14, 0x1c, 0x1e]

/** A text says the same in whatever alphabet it is written: OpenSSL reads them all. */
function textOf({ tag, content }: Element): string {
  if (tag === teletexString) return content.toString('latin1')
  if (tag !== bmpString && tag !== universalString) return content.toString('utf8')
  const width = tag === bmpString ? 2 : 4
  let text = ''
  for (let at = 0; at + width <= content.length; at += width) {
    const point = content.readUIntBE(at, width)
    if (point > 0x10ffff) throw new Error('not a character')
    text += String.fromCodePoint(point)
  }
  return text
}
