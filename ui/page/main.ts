import { h, render } from 'preact'
import type { RecordLine } from '../../shared/record/format.ts'
import { Story } from '../story/story.ts'
import { pictureStyle } from '../views/picture-style.ts'
import { App } from './app.ts'
import { LineReader } from './lines.ts'
import { cutOff, readStream, type SourceState } from './source.ts'

/** The page needs no markup: an element `record` may hold the lines of a record, otherwise `./stream` is read. */
const style = new CSSStyleSheet()
style.replaceSync(pictureStyle)
document.adoptedStyleSheets = [style]
document.documentElement.lang = 'en'
const root = document.getElementById('page') ?? document.body.appendChild(document.createElement('div'))
root.replaceChildren()

const story = new Story()
let source: SourceState = { kind: 'connecting', text: 'Connecting …' }
/** Says when the newest line came, by the clock of this machine. */
let newestMs = 0
let isDue = false

/** Renders at most four times a second: while the page draws, it does not read. */
const drawEveryMs = 250
function due(): void {
  if (isDue) return
  isDue = true
  setTimeout(() => requestAnimationFrame(paint), story.lines ? drawEveryMs : 0)
}
function paint(): void {
  isDue = false
  document.title = `${story.title || 'Kubestage'}: timeline`
  const sinceMs = source.kind === 'live' && newestMs ? performance.now() - newestMs : 0
  render(h(App, { story, version: story.lines, source, nowMs: story.endMs + sinceMs }), root)
}

function add(lines: Iterable<RecordLine>): void {
  for (const line of lines) story.add(line)
  newestMs = performance.now()
  due()
}
function state(next: SourceState): void {
  if (next.kind === 'lost' && source.kind === 'live' && story.lines)
    story.add({
      type: 'GAP',
      at: new Date(story.endMs).toISOString(),
      message: 'The connection to the server was lost',
    })
  source = next
  due()
}

const inlined = document.getElementById('record')?.textContent
if (inlined === undefined || inlined === null) {
  setInterval(() => source.kind === 'live' && due(), 1_000)
  readStream('stream', { lines: add, state })
} else {
  const reader = new LineReader()
  add(reader.push(inlined))
  add(reader.end())
  state(reader.isCut ? { kind: 'lost', text: cutOff } : { kind: 'ended', text: 'A record' })
}
paint()
