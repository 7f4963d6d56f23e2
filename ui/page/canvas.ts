import { allMarks } from '../story/losses.ts'
import { type TimeScale, ticks } from '../views/time-axis.ts'
import { chipHeight, chipOf } from '../views/timeline/chip.ts'
import {
  bandsOf,
  barHeight,
  barsOf,
  graceOf,
  hatches,
  isAlarm,
  lossesOf,
  markLetters,
  marksOf,
  type PlacedMark,
  type Row,
  rowHeight,
} from '../views/timeline/geometry.ts'
import { addressOf, nameWidth } from '../views/timeline/lane.ts'
import { shorten } from '../views/timeline/shorten.ts'
import { hasNote, noteX, scaleFor, type TimelineProps } from '../views/timeline/timeline.ts'

export interface Scene extends Omit<TimelineProps, 'story' | 'onSelect'> {
  height: number
  scrollTop: number
}

const names = [
  ...['paper', 'ink', 'soft', 'line', 'raised', 'accent', 'grace', 'hook', 'wait', 'term', 'kill', 'lost'],
  ...['pending', 'running', 'ready', 'backoff', 'terminating', 'succeeded', 'failed'],
]
const font = 'ui-sans-serif, system-ui, sans-serif'

/** Draws the same lanes as the SVG, but only those in sight, so that thousands of pods stay fast. */
export function draw(canvas: HTMLCanvasElement, scene: Scene): void {
  const { rows, window, width, height, scrollTop } = scene
  const ratio = devicePixelRatio || 1
  if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio)
  if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio)
  const pen = canvas.getContext('2d')
  if (!pen) return
  pen.setTransform(ratio, 0, 0, ratio, 0, 0)
  const painter = new Painter(pen, scaleFor(window, width), scene)
  painter.box('paper', 0, 0, width, height)
  for (const { x } of ticks(scaleFor(window, width))) painter.box('line', x, 0, 1, height)
  const first = Math.max(0, Math.floor(scrollTop / rowHeight))
  const last = Math.min(rows.length, Math.ceil((scrollTop + height) / rowHeight))
  for (let index = first; index < last; index++) painter.row(rows[index]!, index * rowHeight - scrollTop)
}

class Painter {
  readonly #pen: CanvasRenderingContext2D
  readonly #scale: TimeScale
  readonly #scene: Scene
  readonly #colours: ReadonlyMap<string, string>

  constructor(pen: CanvasRenderingContext2D, scale: TimeScale, scene: Scene) {
    this.#pen = pen
    this.#scale = scale
    this.#scene = scene
    const style = getComputedStyle(document.documentElement)
    this.#colours = new Map(names.map((name) => [name, style.getPropertyValue(`--${name}`)]))
  }

  box(name: string, x: number, y: number, width: number, height: number, opacity = 1): void {
    this.#pen.globalAlpha = opacity
    this.#pen.fillStyle = this.#colour(name)
    this.#pen.fillRect(x, y, width, height)
    this.#pen.globalAlpha = 1
  }

  row(row: Row, top: number): void {
    const { width, nowMs, selectedUid } = this.#scene
    const { label, pod } = row
    const scale = this.#scale
    if (!pod) {
      this.box('raised', 0, top, width, rowHeight)
      this.#text(shorten(label, width - 12), { x: 6, y: top + 15, font: `600 12px ${font}` })
      const x = noteX(row)
      if (hasNote(row, width))
        this.#text(shorten(row.note ?? '', width - x), { x, y: top + 15, font: `11px ${font}`, colour: 'soft' })
      return
    }
    const y = top + (rowHeight - barHeight) / 2
    this.#text(shorten(label, nameWidth(pod, scale)), { x: 14, y: top + 15, font: `12px ${font}` })
    const beside = { x: scale.left - 6, y: top + 15, font: `11px ${font}`, colour: 'soft' }
    this.#text(addressOf(pod, scale), { ...beside, align: 'right' })
    for (const { kind, x, width: w, part } of barsOf(pod, scale, nowMs)) {
      const [barY, height] = part === 'whole' ? [y, barHeight] : [y + 3, barHeight - 6]
      this.box(kind, x, barY, w, height)
      const hatch = hatches[kind]
      if (hatch) this.#stripes(hatch === 'dark' ? 'ink' : 'paper', { x, y: barY, width: w, height })
    }
    for (const { x, width: w } of bandsOf(row, scale, nowMs)) {
      this.box('kill', x, top, w, rowHeight, 0.12)
      this.#stripes('kill', { x, y: top, width: w, height: rowHeight })
    }
    for (const { x, width: w } of lossesOf(row, scale)) this.box('lost', x, top + rowHeight - 4, w, 4)
    const grace = graceOf(pod, scale)
    this.#pen.strokeStyle = this.#colour(pod.uid === selectedUid ? 'accent' : 'grace')
    if (grace) this.#pen.strokeRect(grace.x, y - 2.5, grace.width, barHeight + 5)
    if (pod.uid === selectedUid) this.#pen.strokeRect(1, top + 1, width - 2, rowHeight - 2)
    const marks = marksOf(allMarks(pod, row.losses), scale)
    const chip = chipOf(pod, scale, nowMs, marks)
    if (chip) this.#chip(chip, top)
    for (const mark of marks) this.#letter(mark, top)
  }

  #chip({ text, x, width, isBad }: { text: string; x: number; width: number; isBad: boolean }, top: number): void {
    const y = top + (rowHeight - chipHeight) / 2
    this.box('paper', x, y, width, chipHeight)
    this.#pen.strokeStyle = this.#colour(isBad ? 'lost' : 'line')
    this.#pen.strokeRect(x, y, width, chipHeight)
    const colour = isBad ? 'lost' : 'soft'
    this.#text(text, {
      x: x + width / 2,
      y: top + 15,
      font: `${isBad ? '650 ' : ''}10.5px ${font}`,
      colour,
      align: 'center',
    })
  }

  #letter({ kind, x }: PlacedMark, top: number): void {
    this.#pen.fillStyle = this.#colour(isAlarm(kind) ? 'lost' : 'ink')
    this.#pen.beginPath()
    this.#pen.arc(x, top + 11, 6, 0, 7)
    this.#pen.fill()
    this.#text(markLetters[kind], { x, y: top + 14.5, font: `700 9px ${font}`, colour: 'paper', align: 'center' })
  }

  #stripes(name: string, { x, y, width, height }: { x: number; y: number; width: number; height: number }): void {
    const pen = this.#pen
    pen.save()
    pen.beginPath()
    pen.rect(x, y, width, height)
    pen.clip()
    pen.globalAlpha = 0.5
    pen.strokeStyle = this.#colour(name)
    pen.lineWidth = 2
    pen.beginPath()
    for (let at = x - height; at < x + width; at += 8) {
      pen.moveTo(at, y + height)
      pen.lineTo(at + height, y)
    }
    pen.stroke()
    pen.restore()
  }

  #text(text: string, place: { x: number; y: number; font: string; colour?: string; align?: CanvasTextAlign }): void {
    this.#pen.textAlign = place.align ?? 'left'
    this.#pen.font = place.font
    this.#pen.fillStyle = this.#colour(place.colour ?? 'ink')
    this.#pen.fillText(text, place.x, place.y)
  }

  #colour(name: string): string {
    return this.#colours.get(name.toLowerCase()) ?? '#888'
  }
}
