/** test/docs/seeds.md as data: its rows, and for each proof where its assertion is written and where its result is reported. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { reasonRows } from '../../shared/reasons/reason-table.ts'
import { signature } from '../golden/kubelet/signature.mjs'
import { readLater } from '../harness/replay.ts'
import { quickScenarios } from '../harness/replay-kubelet.ts'

const root = path.join(import.meta.dirname, '..')
const read = (...names: string[]): string => readFileSync(path.join(root, ...names), 'utf8')

export interface Row {
  /** The line of the page. */
  line: string
  cells: string[]
  proofs: Proof[]
}

export interface Proof {
  /** As the page has it. */
  text: string
  /** The test file, below test/ and without its ending. */
  file: string
  /** Titles of the tests around the assertion, outermost first; some may be left out. */
  titles: string[]
  /** The assertion's message. */
  message: string
  /** Of a transcript: what it must hold, in this order; `not: …` may not stand between its neighbours. */
  words?: string[]
  /** Undefined: no such transcript, or the tests do not play it. */
  transcript?: string
}

export const transcriptMessage = 'goes as its transcript says'

const kinds: Record<string, (name: string) => Pick<Proof, 'file' | 'titles' | 'message' | 'transcript'>> = {
  scenarios: (name) => ({
    file: 'kubelet/scenarios',
    titles: [name],
    message: transcriptMessage,
    transcript: existsSync(path.join(root, 'scenarios', `${name}.txt`))
      ? read('scenarios', `${name}.txt`).split('\n---\n')[1]
      : undefined,
  }),
  recordings: (name) => ({ file: 'golden/kubelet', titles: [], message: name, transcript: recordings().get(name) }),
  reasons: (name) => ({
    file: 'library/reasons',
    titles: [name],
    message: 'by itself',
    transcript: reasonRows()
      .filter(({ who, situation }) => `${who}: ${situation}` === name)
      .map(({ told }) => (typeof told === 'string' ? told : 'nothing'))[0],
  }),
  answers: (name) => ({ file: 'golden/api', titles: [], message: name, transcript: answers().get(name) }),
}

interface Recording {
  name: string
  podEvents: object[]
  events: { component?: string; reason: string; message: string }[]
  containerLog?: { container: string; text: string }[]
}

/** Of the recordings that `npm test` plays, what is compared: states, events and logs, in lines. */
const recordings = once(() => {
  const played = new Set(quickScenarios(readLater().kubelet))
  const all = (JSON.parse(read('golden', 'kubelet', 'observed.json')) as Recording[]).filter(({ name }) =>
    played.has(name),
  )
  return new Map(all.map((recording) => [recording.name, linesOf(recording).join('\n')]))
})

const linesOf = ({ podEvents, events, containerLog = [] }: Recording): string[] => [
  ...podEvents.map(signature),
  ...events.filter(({ component }) => component === 'kubelet').map(({ reason, message }) => `${reason}: ${message}`),
  ...containerLog.map(({ container, text }) => `${container}: ${text}`),
]

/** What a real server answered, step by step. */
const answers = once(() => {
  const later = readLater().api
  const files = readdirSync(path.join(root, 'golden', 'api'))
  const scenarios = files.flatMap(
    (file) => JSON.parse(read('golden', 'api', file)) as { name: string; steps: { answer?: unknown }[] }[],
  )
  return new Map(
    scenarios
      .filter(({ name }) => !later[name])
      .map(({ name, steps }) => [name, steps.map(({ answer }) => JSON.stringify(answer) ?? '').join('\n')]),
  )
})

/** Before words of a transcript that must not stand between those before and those after. */
const absence = 'not: '

function once<T>(make: () => T): () => T {
  let made: T | undefined
  return () => (made ??= make())
}

export function readRows(): Row[] {
  const lines = read('docs', 'seeds.md').split('\n')
  return lines
    .filter((line) => line.startsWith('| ') && !line.startsWith('| Statement |'))
    .map((line) => {
      const cells = line.slice(2, -2).split(' | ')
      const proofs = [...(cells[2] ?? '').matchAll(/`([^`]+)`/g)].map(([, text = '']) => parseProof(text))
      return { line, cells, proofs }
    })
}

export function parseProof(text: string): Proof {
  const [where = '', ...rest] = text.split(' › ')
  const [kind = '', ...name] = where.split('/')
  const known = kinds[kind]?.(name.join('/'))
  if (known) return { text, ...known, words: rest }
  return { text, file: where, titles: rest.slice(0, -1), message: rest.at(-1) ?? '' }
}

/** Undefined: the assertion is written where the page says. */
export function problemWith({ file, titles, message, words, transcript }: Proof): string | undefined {
  if (words) return problemWithTranscript(transcript, words)
  if (!existsSync(path.join(root, `${file}.test.ts`))) return 'there is no such file'
  let block: string | undefined = read(`${file}.test.ts`)
  if (titles.length === 0) return 'names no test'
  for (const title of titles) {
    block = blockOf(block, title)
    if (block === undefined) return `there is no test "${title}"`
  }
  const source = read(`${file}.test.ts`)
  const texts = [block, ...helpersOf(source, block ?? '')]
  return quotes(message).some((quoted) => texts.some((text) => text?.includes(quoted)))
    ? undefined
    : 'its test has no such message'
}

function problemWithTranscript(transcript: string | undefined, words: readonly string[]): string | undefined {
  if (transcript === undefined) return 'is not there, or not played by npm test'
  if (words.length === 0) return 'names nothing in it'
  let rest = transcript
  let absent: string | undefined
  for (const some of words) {
    if (some.startsWith(absence)) {
      absent = some.slice(absence.length)
      continue
    }
    const at = rest.indexOf(some)
    if (at < 0) return `does not have, in this order: ${some}`
    if (absent !== undefined && rest.slice(0, at).includes(absent)) return `has too early: ${absent}`
    absent = undefined
    rest = rest.slice(at + some.length)
  }
  return absent !== undefined && rest.includes(absent) ? `has too late: ${absent}` : undefined
}

const quotes = (text: string): string[] => {
  const escaped = text.replaceAll("'", "\\'")
  return [`'${escaped}'`, `"${text}"`, `\`${text}\``]
}

/** The source of each function of the file that a test calls. */
const helpersOf = (source: string, block: string): string[] =>
  source
    .split(/^(?=(?:async )?function )/m)
    .slice(1)
    .filter((text) => block.includes(`${/function (\w+)/.exec(text)?.[1]}(`))
    .map((text) => text.slice(0, text.indexOf('\n}\n') + 1))

/** The source of a test: from its title to the line that closes the call, which is indented like the one that opens it. */
function blockOf(source: string, title: string): string | undefined {
  const lines = source.split('\n')
  const at = lines.findIndex(
    (line, index) =>
      quotes(title).some((quoted) => line.includes(quoted)) &&
      (line.includes('.test(') || lines[index - 1]?.trimEnd().endsWith('.test(')),
  )
  if (at < 0) return undefined
  const opening = lines[at]?.includes('.test(') ? at : at - 1
  const indent = /^ */.exec(lines[opening] ?? '')?.[0] ?? ''
  const length = lines.slice(at + 1).findIndex((line) => line.startsWith(`${indent}})`) || line === `${indent})`)
  return lines.slice(opening, at + 2 + length).join('\n')
}
