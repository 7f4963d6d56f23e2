import { h, type JSX } from 'preact'
import { Box, bars, letters, Mark } from './legend.ts'

interface Entry {
  sign: JSX.Element | JSX.Element[]
  text: string
}

const series: readonly (readonly [string, string])[] = [
  ['new', 'ready pods of the new template'],
  ['old', 'ready pods of the old one'],
  ['total', 'all pods'],
]
const lineHeight = 20
/** Estimated width of a letter: pictures are drawn without a browser that measures. */
const perLetter = 6.6

/**
 * Draws the legend below a picture without a page, in as many lines as needed. It explains the signs that `markup`
 * contains.
 */
export function pictureLegend(markup: string, width: number): { height: number; of: JSX.Element } {
  const placed: JSX.Element[] = []
  let [x, y] = [6, 8]
  for (const { sign, text } of entriesOf(markup)) {
    const wide = 24 + text.length * perLetter + 10
    if (x > 6 && x + wide > width) [x, y] = [6, y + lineHeight]
    placed.push(h('g', { transform: `translate(${x} ${y})` }, [sign, h('text', { class: 'soft', x: 23, y: 11 }, text)]))
    x += Math.round(wide)
  }
  return { height: placed.length > 0 ? y + lineHeight : 0, of: h('g', { class: 'legend' }, placed) }
}

function entriesOf(markup: string): Entry[] {
  const has = (kind: string): boolean => markup.includes(`class="${kind}"`)
  const hasLetter = (letter: string): boolean => new RegExp(`class="letter"[^>]*>${letter}<`).test(markup)
  const line = (kind: string): JSX.Element => h('path', { class: `series ${kind}`, d: 'M0 7H18' })
  return [
    ...series.filter(([kind]) => has(`series ${kind}`)).map(([kind, text]) => ({ sign: line(kind), text })),
    ...bars.filter(([kind]) => has(kind)).map(([kind, text]) => ({ sign: Box(kind), text })),
    ...letters.filter(([letter]) => hasLetter(letter)).map(([letter, text]) => ({ sign: Mark(letter), text })),
  ]
}
