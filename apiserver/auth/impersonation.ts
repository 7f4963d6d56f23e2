import type { IncomingHttpHeaders } from 'node:http'
import { badRequest } from '../../shared/api/status-errors.ts'
import type { Attributes, User } from './types.ts'

const extraPrefix = 'impersonate-extra-'

/** Whom the request wants to act as; undefined when it says nothing of the kind. */
export function requestedUser(headers: IncomingHttpHeaders): User | undefined {
  if (!asks(headers)) return undefined
  const name = valuesOf(headers['impersonate-user'])[0] ?? ''
  const [uid] = valuesOf(headers['impersonate-uid'])
  const groups = valuesOf(headers['impersonate-group'])
  const extra = Object.entries(headers).flatMap(([header, value]) =>
    header.startsWith(extraPrefix) ? [[header.slice(extraPrefix.length), valuesOf(value)] as const] : [],
  )
  if (name === '') {
    if (uid === undefined && groups.length === 0 && extra.length === 0) return undefined
    throw badRequest(`requested ${goUser({ uid, groups, extra })} without impersonating a user name`)
  }
  const everybody = name === 'system:anonymous' ? 'system:unauthenticated' : 'system:authenticated'
  return {
    name,
    uid,
    groups: groups.includes(everybody) ? groups : [...groups, everybody],
    ...(extra.length > 0 && { extra: Object.fromEntries(extra) }),
  }
}

/** Nearly nobody does, and everybody pays for the look. */
function asks(headers: IncomingHttpHeaders): boolean {
  for (const header in headers) if (header.charCodeAt(0) === letterI && header.startsWith('impersonate-')) return true
  return false
}
const letterI = 'i'.charCodeAt(0)

/** What one must be allowed to do to act as somebody else. */
export function* impersonationAttributes(user: User, path: string, { name, groups }: User): Generator<Attributes> {
  const may = (resource: string, name: string): Attributes => ({
    user,
    path,
    verb: 'impersonate',
    resource: { group: '', resource, name },
  })
  yield may('users', name)
  for (const group of groups) if (!group.startsWith('system:authenticated')) yield may('groups', group)
}

const valuesOf = (header: string | string[] | undefined): string[] =>
  header === undefined ? [] : [header].flat().flatMap((value) => value.split(', '))

type Extra = readonly (readonly [string, readonly string[]])[]

/** As Go prints it in the message. */
function goUser({ uid = '', groups, extra }: { uid?: string; groups: readonly string[]; extra: Extra }): string {
  const list = (values: readonly string[]): string =>
    values.length === 0 ? '[]string(nil)' : `[]string{${values.map((value) => JSON.stringify(value)).join(', ')}}`
  const entries = extra.map(([key, values]) => `${JSON.stringify(key)}:${list(values)}`).join(', ')
  const map = extra.length === 0 ? 'map[string][]string(nil)' : `map[string][]string{${entries}}`
  return `&user.DefaultInfo{Name:"", UID:${JSON.stringify(uid)}, Groups:${list(groups)}, Extra:${map}}`
}
