import type { RecordedRequest } from '../../shared/record/format.ts'
import { type JournalRow, limits } from './model.ts'
import { plain } from './text.ts'

/** Defines a hot loop: so many writes of one user to one resource in each of so many seconds. */
const hot = { perSecond: 10, seconds: 3 }
const reads: ReadonlySet<string> = new Set(['get', 'list', 'watch'])

/** Counts requests by user, verb, resource and second. */
export class JournalRows {
  readonly rows = new Map<string, JournalRow>()

  add(request: RecordedRequest, atMs: number): void {
    const resource = [request.resource || request.path, request.subresource].filter(Boolean).join('/')
    const key = `${request.user}\n${request.verb}\n${resource}`.slice(0, 600)
    const row = this.rows.get(key) ?? this.#newRow(key, request, plain(resource))
    const second = Math.floor(atMs / 1_000)
    const count = (row.seconds.get(second) ?? 0) + 1
    row.seconds.set(second, count)
    if (row.seconds.size > limits.seconds) row.seconds.delete(row.seconds.keys().next().value!)
    row.total++
    if (!(request.code >= 100 && request.code < 400)) row.failed++
    row.mostPerSecond = Math.max(row.mostPerSecond, count)
    if (row.hotMs === undefined && count === hot.perSecond && !reads.has(row.verb) && isHot(row, second))
      row.hotMs = (second - hot.seconds + 1) * 1_000
  }

  #newRow(key: string, { user, verb }: RecordedRequest, resource: string): JournalRow {
    if (this.rows.size >= limits.rows) {
      const [rarest] = [...this.rows].reduce((a, b) => (b[1].total < a[1].total ? b : a))
      this.rows.delete(rarest)
    }
    const names = { user: plain(user), verb: plain(verb), resource }
    const row: JournalRow = { ...names, total: 0, failed: 0, seconds: new Map(), mostPerSecond: 0 }
    this.rows.set(key, row)
    return row
  }
}

function isHot({ seconds }: JournalRow, last: number): boolean {
  for (let second = last - hot.seconds + 1; second <= last; second++)
    if ((seconds.get(second) ?? 0) < hot.perSecond) return false
  return true
}
