/** Takes out of answers what differs between two servers that agree, and finds the first difference. */
import { isDeepStrictEqual } from 'node:util'
import type { Answer } from './case.ts'
import type { Received } from './player.ts'

/** Fields whose values a server chooses, or that follow from the user who asks. */
const chosen = new Set([
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'clusterIP',
  'clusterIPs',
  'nodePort',
  'healthCheckNodePort',
  'serviceAccount',
  'serviceAccountName',
  'selfLink',
  'time',
  'username',
  'groups',
  'extra',
  'serverAddress',
  'gitCommit',
  'gitTreeState',
  'goVersion',
])

export function answerOf({ status, warnings, body, type }: Received, name: string): Answer {
  const normalize = normalizer(name)
  const { kind, message, reason, details } = (body ?? {}) as { [name: string]: unknown }
  const isStatus = kind === 'Status' && status >= 400
  const causes = (details as { causes?: Record<string, unknown>[] } | undefined)?.causes ?? []
  const shown = isStatus
    ? {
        message,
        ...(reason !== undefined && { reason }),
        causes: causes.map(({ field, reason, message }) => [field ?? null, reason ?? null, message ?? null]),
      }
    : body
  const { causes: _, ...about } = (isStatus ? (details ?? {}) : {}) as Record<string, unknown>
  const more = normalize({ type, ...about })
  return {
    status,
    body: normalize(withoutBookmarks(shown)),
    warnings: normalize([...warnings].sort()) as string[],
    more,
  }
}

/** A server sends bookmarks from time to time; only the one that ends the initial events has its place. */
function withoutBookmarks(body: unknown): unknown {
  if (!Array.isArray(body)) return body
  return body.filter(
    (event) => event?.type !== 'BOOKMARK' || JSON.stringify(event).includes('k8s.io/initial-events-end'),
  )
}

/** A real server finds errors of fields in a random order. */
const sortedLines = (text: string): string => {
  const [title, ...lines] = text.split('\n')
  return [title, ...lines.sort()].join('\n')
}

function normalizer(name: string): (value: unknown) => unknown {
  const text = (value: string): string =>
    value
      .replaceAll(name, '{{name}}')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}/g, '<uid>')
      .replaceAll(/(resourceVersion\\*":\\*")\d+/g, '$1<rv>')
      .replaceAll(/(resource version: |current: |record \(|precondition \()\d+/g, '$1<rv>')
      .replaceAll(/\b10\.96\.\d+\.\d+\b/g, '<ip>')
      .replaceAll(/\\*"serviceAccount(?:Name)?\\*":\\*"default\\*",/g, '')
      .replaceAll(/\b\d+\.\d+\.\d+\.\d+:\d{4,5}\b/g, '<address>')
      .replaceAll(/\beyJ2[\w=-]+/g, '<token>')
      .replaceAll(/X509SHA256=[0-9a-f]+/g, 'X509SHA256=<hash>')
      .replaceAll(/(\\*"username\\*":\\*")[^"\\]+/g, '$1<user>')
      .replace(/^(kubernetes-)?admin$/, '<user>')
      // A real server ends a map at the first undeclared field, and reads maps in a random order.
      .replace(/(Kind=\w+\): ).*field not declared in schema.*/s, '$1<errors>')
      .replace(/errors:(?:\n {2}.*)+/, sortedLines)
  const walk = (value: unknown): unknown => {
    if (typeof value === 'string') return text(value)
    if (Array.isArray(value)) return value.map(walk)
    if (typeof value !== 'object' || value === null) return value
    const isColumn = 'priority' in value && 'format' in value // its description is prose
    const isRow = 'cells' in value && 'object' in value && Array.isArray(value.cells)
    if (isRow) return { ...value, cells: (value.cells as unknown[]).map(ageOr(walk)), object: walk(value.object) }
    const entries = Object.entries(value).filter(([key]) => !chosen.has(key) && !(isColumn && key === 'description'))
    return Object.fromEntries(entries.map(([key, item]) => [key.replaceAll(name, '{{name}}'), walk(item)]))
  }
  return walk
}

const ageOr =
  (walk: (value: unknown) => unknown) =>
  (cell: unknown): unknown =>
    typeof cell === 'string' && /^(\d+[smhd])+$/.test(cell) ? '<age>' : walk(cell)

export interface Difference {
  /** `status 422 -> 200`, `message`, `body`, `warning` or `more`. */
  class: string
  /** The first place that differs: theirs -> ours. */
  at: string
}

export function differenceOf(our: Answer, their: Answer): Difference | undefined {
  const [ours, theirs] = [inOrder(our), inOrder(their)]
  if (isDeepStrictEqual(ours, { more: ours.more, ...theirs })) return undefined
  if (ours.status !== theirs.status) {
    return { class: `status ${theirs.status} -> ${ours.status}`, at: `${short(theirs, 230)} -> ${short(ours, 230)}` }
  }
  if (!isDeepStrictEqual(ours.body, theirs.body)) {
    return { class: ours.status >= 400 ? 'message' : 'body', at: firstDifference(ours.body, theirs.body) }
  }
  if (isDeepStrictEqual(ours.warnings, theirs.warnings))
    return { class: 'more', at: firstDifference(ours.more, theirs.more) }
  return { class: 'warning', at: `${short(theirs.warnings, 230)} -> ${short(ours.warnings, 230)}` }
}

/** Entries of managedFields stand in the order of the seconds in which they were written. */
function managersInOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(managersInOrder)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      key === 'managedFields' && Array.isArray(item) ? sorted(item) : managersInOrder(item),
    ]),
  )
}

function sorted(items: readonly unknown[]): unknown[] {
  const texts = new Map(items.map((item) => [item, JSON.stringify(byKey(item))]))
  return items.toSorted((a, b) => (texts.get(a)! < texts.get(b)! ? -1 : 1))
}

/** Both servers write the fields of an object in orders of their own. */
function byKey(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(byKey)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, item]) => [key, byKey(item)]))
}

/** A real server checks schemas of custom resources property by property, and maps of Go have no order. */
function inOrder(answer: Answer): Answer {
  if (answer.status < 300) return { ...answer, body: managersInOrder(answer.body) }
  const { causes, message } = (answer.body ?? {}) as { causes?: unknown[]; message?: string }
  if (!Array.isArray(causes) || causes.length < 2 || !ofDefinitions.test(message ?? '')) return answer
  const [title, ...lines] = message!.replace(/[[\]]/g, '').split(/(?<= is invalid: )|, /)
  return { ...answer, body: { ...(answer.body as object), causes: sorted(causes), message: [title, ...lines.sort()] } }
}

/** Messages about definitions and their resources. */
const ofDefinitions = /^(CustomResourceDefinition|\w+\.[\w{}-]+\.example\.com)\b/

const short = (value: unknown, length: number): string =>
  (JSON.stringify(value && typeof value === 'object' && 'body' in value ? value.body : value) ?? '').slice(0, length)

function firstDifference(ours: unknown, theirs: unknown, at = ''): string {
  if (isDeepStrictEqual(ours, theirs)) return ''
  if (isContainer(ours) && isContainer(theirs) && Array.isArray(ours) === Array.isArray(theirs)) {
    for (const key of [...new Set([...Object.keys(theirs), ...Object.keys(ours)])].sort()) {
      if (isDeepStrictEqual(ours[key], theirs[key])) continue
      if (!(key in ours)) return `${at}.${key}: missing ${short(theirs[key], 100)}`
      if (!(key in theirs)) return `${at}.${key}: extra ${short(ours[key], 100)}`
      return firstDifference(ours[key], theirs[key], `${at}.${key}`)
    }
  }
  if (typeof ours === 'string' && typeof theirs === 'string') {
    let start = 0
    while (ours[start] === theirs[start]) start++
    const from = Math.max(0, start - 40)
    return `${at} at ${start}: ${short(theirs.slice(from), 160)} -> ${short(ours.slice(from), 160)}`
  }
  return `${at}: ${short(theirs, 100)} -> ${short(ours, 100)}`
}

const isContainer = (value: unknown): value is { [key: string]: unknown } => typeof value === 'object' && value !== null
