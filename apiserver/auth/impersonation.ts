import type { IncomingHttpHeaders } from 'node:http'
import { badRequest } from '../../shared/api/status/status-errors.ts'
import { percentDecoded } from '../../shared/http/percent-decoded.ts'
import type { User } from '../kind/user.ts'

/** The user that a request wants to act as, before authorization. */
export interface WantedUser {
  name: string
  uid?: string
  groups: readonly string[]
  extra: Readonly<Record<string, readonly string[]>>
}

const extraPrefix = 'impersonate-extra-'

/** The user that the request wants to act as; undefined if it does not impersonate. */
export function wantedUser(headers: IncomingHttpHeaders): WantedUser | undefined {
  if (!asks(headers)) return undefined
  const name = valuesOf(headers['impersonate-user'])[0] ?? ''
  const [uid] = valuesOf(headers['impersonate-uid'])
  const groups = valuesOf(headers['impersonate-group'])
  const extra = Object.entries(headers).flatMap(([header, value]) =>
    header.startsWith(extraPrefix)
      ? [[percentDecoded(header.slice(extraPrefix.length)), valuesOf(value)] as const]
      : [],
  )
  if (name !== '') return { name, uid, groups, extra: Object.fromEntries(extra) }
  if (uid === undefined && groups.length === 0 && extra.length === 0) return undefined
  throw badRequest(`requested ${goUser({ uid, groups, extra })} without impersonating a user name`)
}

/** The impersonated user, once that is allowed. */
export function actingAs({ name, uid, groups, extra }: WantedUser, fixedGroups: readonly string[] = groups): User {
  const own = groups.length > 0 ? groups : fixedGroups
  const everybody =
    name === 'system:anonymous' || own.includes('system:unauthenticated')
      ? 'system:unauthenticated'
      : 'system:authenticated'
  return {
    name,
    uid,
    groups: own.includes(everybody) ? own : [...own, everybody],
    ...(Object.keys(extra).length > 0 && { extra }),
  }
}

/** Few requests impersonate, and every request pays for this check. */
function asks(headers: IncomingHttpHeaders): boolean {
  for (const header in headers) if (header.charCodeAt(0) === letterI && header.startsWith('impersonate-')) return true
  return false
}
const letterI = 'i'.charCodeAt(0)

const valuesOf = (header: string | string[] | undefined): string[] =>
  header === undefined ? [] : [header].flat().flatMap((value) => value.split(', '))

type Extra = readonly (readonly [string, readonly string[]])[]

/** Prints the user as Go does in the message. */
function goUser({ uid = '', groups, extra }: { uid?: string; groups: readonly string[]; extra: Extra }): string {
  const list = (values: readonly string[]): string =>
    values.length === 0 ? '[]string(nil)' : `[]string{${values.map((value) => JSON.stringify(value)).join(', ')}}`
  const entries = extra.map(([key, values]) => `${JSON.stringify(key)}:${list(values)}`).join(', ')
  const map = extra.length === 0 ? 'map[string][]string(nil)' : `map[string][]string{${entries}}`
  return `&user.DefaultInfo{Name:"", UID:${JSON.stringify(uid)}, Groups:${list(groups)}, Extra:${map}}`
}
