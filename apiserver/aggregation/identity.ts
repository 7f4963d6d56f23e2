import type { User } from '../kind/user.ts'

/** Characters of a token of HTTP but `%`; all others are escaped. Upstream: client-go's transport, headerKeyEscape. */
const legal = /[!#$&'*+\-.0-9A-Z^_`a-z|~]/

const escaped = (key: string): string =>
  [...Buffer.from(key)]
    .map((byte) => {
      const character = String.fromCharCode(byte)
      return legal.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
    })
    .join('')

/** Headers by which a client could say who it is. They are not forwarded: the server itself says it. */
export const isIdentity = (name: string): boolean => /^x-remote-(user|uid|group|extra-.*)$/.test(name)

/** Says to a server behind this one who asks. Upstream: client-go's SetAuthProxyHeaders. */
export function identityHeaders({ name, uid, groups, extra = {} }: User): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = { 'x-remote-user': headerText(name) }
  if (uid) headers['x-remote-uid'] = headerText(uid)
  if (groups.length > 0) headers['x-remote-group'] = groups.map(headerText)
  for (const [key, values] of Object.entries(extra))
    if (values.length > 0) headers[`x-remote-extra-${escaped(key).toLowerCase()}`] = values.map(headerText)
  return headers
}

/** UTF-8 as Go writes it: Node writes a header as latin1. Line breaks would end the header. */
const headerText = (text: string): string => Buffer.from(text.replace(/[\r\n\0]/g, ' ')).toString('latin1')
