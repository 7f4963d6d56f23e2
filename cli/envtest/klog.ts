import { Writable } from 'node:stream'
import { type Logger, pino } from 'pino'

const letters: Record<number, string> = { 10: 'I', 20: 'I', 30: 'I', 40: 'W', 50: 'E', 60: 'F' }
/** Fields that pino adds to each entry, or that stand elsewhere in a line. */
const elsewhere = new Set(['level', 'time', 'pid', 'hostname', 'component', 'msg', 'err'])

interface Entry extends Record<string, unknown> {
  level: number
  time: number
  msg?: string
  err?: { message?: string }
}

/**
 * A log whose lines look like those of Kubernetes' own programs: `I1121 15:04:05.123456   42 kubestage] "Serving"
 * port=6443`.
 */
export function createKlog(write: (line: string) => void): Logger {
  const stream = new Writable({
    decodeStrings: false,
    write(line: string, _encoding, done) {
      write(klogLine(JSON.parse(line) as Entry))
      done()
    },
  })
  return pino({ level: 'info' }, stream)
}

export function klogLine({ level, time, msg = '', err, ...rest }: Entry): string {
  const at = new Date(time).toISOString()
  const stamp = `${at.slice(5, 7)}${at.slice(8, 10)} ${at.slice(11, 23)}000`
  const fields = Object.entries({ ...(err && { err: err.message }), ...rest }).filter(
    ([name]) => name === 'err' || !elsewhere.has(name),
  )
  const text = [JSON.stringify(msg), ...fields.map(([name, value]) => `${name}=${JSON.stringify(value)}`)].join(' ')
  return `${letters[level] ?? 'I'}${stamp} ${String(process.pid).padStart(7)} kubestage] ${text}\n`
}
