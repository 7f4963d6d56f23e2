/** Schedules in cron's form, as far as one must know them to refuse them in upstream's words. */

interface Bounds {
  min: number
  max: number
  names?: string[]
}
const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const fields: Bounds[] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, names: ['', ...months] },
  { min: 0, max: 6, names: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] },
]
const descriptors = new Set(['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly'])

export const hasTimeZone = (schedule: string): boolean => schedule.includes('TZ')

/** Returns why `text` is not a valid cron schedule; undefined if it is valid. */
export function scheduleProblem(text: string): string | undefined {
  if (text === '') return 'empty spec string'
  let schedule = text
  if (schedule.startsWith('TZ=') || schedule.startsWith('CRON_TZ=')) {
    const blank = schedule.indexOf(' ')
    const zone = schedule.slice(schedule.indexOf('=') + 1, blank === -1 ? undefined : blank)
    const problem = zoneProblem(zone)
    if (problem) return `provided bad location ${zone}: ${problem}`
    schedule = blank === -1 ? '' : schedule.slice(blank).trim()
  }
  if (schedule.startsWith('@')) return descriptorProblem(schedule)
  const parts = schedule.split(/\s+/).filter((part) => part !== '')
  if (parts.length !== fields.length)
    return `expected exactly ${fields.length} fields, found ${parts.length}: [${parts.join(' ')}]`
  for (const [index, bounds] of fields.entries()) {
    for (const expression of (parts[index] ?? '').split(',').filter((part) => part !== '')) {
      const problem = rangeProblem(expression, bounds)
      if (problem) return problem
    }
  }
  return undefined
}

const DURATION = /^[-+]?(\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)((\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h))*$/
function descriptorProblem(text: string): string | undefined {
  if (descriptors.has(text)) return undefined
  if (text.startsWith('@every ')) {
    const duration = text.slice('@every '.length)
    return DURATION.test(duration) || duration === '0'
      ? undefined
      : `failed to parse duration ${text}: time: invalid duration ${JSON.stringify(duration)}`
  }
  return `unrecognized descriptor: ${text}`
}

function rangeProblem(expression: string, { min, max, names }: Bounds): string | undefined {
  const [range = '', stepText, ...more] = expression.split('/')
  const [low = '', high, ...beyond] = range.split('-')
  let start = min
  let end = max
  if (low !== '*' && low !== '?') {
    const parsed = numberOrName(low, names)
    if (typeof parsed === 'string') return parsed
    start = parsed
    if (beyond.length > 0) return `too many hyphens: ${expression}`
    if (high === undefined) end = stepText === undefined ? start : max
    else {
      const last = numberOrName(high, names)
      if (typeof last === 'string') return last
      end = last
    }
  }
  if (more.length > 0) return `too many slashes: ${expression}`
  let step = 1
  if (stepText !== undefined) {
    const parsed = numberOrName(stepText, undefined)
    if (typeof parsed === 'string') return parsed
    step = parsed
  }
  if (start < min) return `beginning of range (${start}) below minimum (${min}): ${expression}`
  if (end > max) return `end of range (${end}) above maximum (${max}): ${expression}`
  if (start > end) return `beginning of range (${start}) beyond end of range (${end}): ${expression}`
  if (step === 0) return `step of range should be a positive number: ${expression}`
  return undefined
}

/** The number, or why it is none. */
function numberOrName(text: string, names: string[] | undefined): number | string {
  const named = names?.indexOf(text.toLowerCase()) ?? -1
  if (text !== '' && named >= 0) return named
  if (!/^[-+]?\d+$/.test(text))
    return `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`
  const number = Number.parseInt(text, 10)
  return number < 0 ? `negative number (${number}) not allowed: ${text}` : number
}

export function zoneProblem(zone: string): string | undefined {
  if (zone === 'Local' || zone === 'UTC') return undefined
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone })
    return /^[+-]/.test(zone) ? `unknown time zone ${zone}` : undefined
  } catch {
    return `unknown time zone ${zone}`
  }
}
