import { isMap } from '../../shared/api/json/json-map.ts'
import { badRequest, invalid } from '../../shared/api/status/status-errors.ts'
import type { StatusCause } from '../../shared/api/types.ts'
import { lossKinds, type RecordedLoad, type RecordedMark } from '../../shared/record/format.ts'

const maxLines = 1000
const maxCauses = 20
const maxText = 1024

type Added = RecordedLoad | RecordedMark
type Check = (value: unknown) => string | undefined

const time: Check = (value) =>
  typeof value === 'string' &&
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(value) &&
  !Number.isNaN(Date.parse(value))
    ? undefined
    : 'must be a time in RFC 3339 and UTC, for example 2026-05-17T10:00:00Z'
const text: Check = (value) =>
  typeof value === 'string' && value.length <= maxText ? undefined : `must be a text of at most ${maxText} letters`
const amount: Check = (value) =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? undefined : 'must be a number from 0 on'
const count: Check = (value) =>
  Number.isSafeInteger(value) && Number(value) >= 0 ? undefined : 'must be a whole number from 0 on'
const kinds = lossKinds.join(', ')
const losses: Check = (value) =>
  isMap(value) && Object.entries(value).every(([kind, amount]) => isLossKind(kind) && count(amount) === undefined)
    ? undefined
    : `must be a map of whole numbers from 0 on, with keys of ${kinds}`
const isLossKind = (kind: string): boolean => (lossKinds as readonly string[]).includes(kind)
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined ? undefined : check(value)
const level: Check = (value) => (value === 'note' || value === 'failure' ? undefined : 'must be "note" or "failure"')

/** Maps each type of line that a client may add to its fields. */
const shapes: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  LOAD: {
    ...{ at: time, seconds: amount, target: text, namespace: text },
    ...{ answered: count, lost: count, cut: count, slowestMs: amount },
    ...{ uid: optional(text), service: optional(text), losses: optional(losses) },
  },
  MARK: { at: time, text, level },
}

/**
 * Reads lines of JSON. `now` is the time of those that name none. Throws a StatusError: 400 for what is no JSON or too
 * much, 422 with a cause for each wrong field.
 */
export function addedLines(body: string, now: string): Added[] {
  const lines = body.split('\n').filter((line) => line.trim() !== '')
  if (lines.length === 0) throw badRequest('the body has no line; each is a LOAD or a MARK of a record')
  if (lines.length > maxLines) throw badRequest(`the body has ${lines.length} lines; at most ${maxLines} are taken`)
  const causes: StatusCause[] = []
  const added = lines.map((line, index) => checked(parsed(line, index), { place: `[${index}]`, now, causes }))
  if (causes.length === 0) return added as unknown as Added[]
  const message = causes.map((cause) => `${cause.field}: ${cause.message}`).join(', ')
  throw invalid({ group: 'kubestage.dev', kind: 'Record' }, '', message, causes.slice(0, maxCauses))
}

function parsed(line: string, index: number): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch (error) {
    throw badRequest(`line ${index + 1} is not valid JSON: ${(error as Error).message}`)
  }
  if (isMap(value)) return value
  throw badRequest(`line ${index + 1} must be a map of fields`)
}

/** Returns the known fields alone. */
function checked(
  given: Record<string, unknown>,
  { place, now, causes }: { place: string; now: string; causes: StatusCause[] },
): Record<string, unknown> {
  const type = String(given.type)
  const shape = Object.hasOwn(shapes, type) ? shapes[type] : undefined
  const wrong = (field: string, message: string): void => {
    if (causes.length <= maxCauses) causes.push({ reason: 'FieldValueInvalid', field: `${place}.${field}`, message })
  }
  if (!shape) wrong('type', `must be ${Object.keys(shapes).join(' or ')}`)
  const line: Record<string, unknown> = { type }
  for (const [field, check] of Object.entries(shape ?? {})) {
    const value = given[field] ?? (field === 'at' ? now : undefined)
    const problem = check(value)
    if (problem) wrong(field, problem)
    line[field] = value
  }
  return line
}
