import { type TimeWindow, ticks } from '../views/time-axis.ts'
import { barHeight, barsOf, graceOf, markLetters, marksOf, type Row, rowHeight } from '../views/timeline/geometry.ts'
import { scaleFor, shorten } from '../views/timeline/timeline.ts'

export interface Scene {
  rows: readonly Row[]
  window: TimeWindow
  width: number
  height: number
  scrollTop: number
  nowMs: number
  selectedUid?: string
}

const names = [
  ...['paper', 'ink', 'soft', 'line', 'raised', 'accent', 'grace', 'hook', 'wait', 'term', 'kill'],
  ...['pending', 'running', 'ready', 'terminating', 'succeeded', 'failed'],
]

/** The same lanes as the SVG, of those that are in sight: for thousands of pods. */
export function draw(canvas: HTMLCanvasElement, scene: Scene): void {
  const { rows, window, width, height, scrollTop, nowMs, selectedUid } = scene
  const ratio = devicePixelRatio || 1
  if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio)
  if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio)
  const pen = canvas.getContext('2d')
  if (!pen) return
  const style = getComputedStyle(document.documentElement)
  const colours = new Map(names.map((name) => [name, style.getPropertyValue(`--${name}`)]))
  const colour = (name: string): string => colours.get(name.toLowerCase()) ?? '#888'
  const box = (name: string, x: number, y: number, w: number, h: number): void => {
    pen.fillStyle = colour(name)
    pen.fillRect(x, y, w, h)
  }
  pen.setTransform(ratio, 0, 0, ratio, 0, 0)
  box('paper', 0, 0, width, height)
  const scale = scaleFor(window, width)
  for (const { x } of ticks(scale)) box('line', x, 0, 1, height)
  const first = Math.max(0, Math.floor(scrollTop / rowHeight))
  const last = Math.min(rows.length, Math.ceil((scrollTop + height) / rowHeight))
  for (let index = first; index < last; index++) {
    const { label, pod } = rows[index]!
    const top = index * rowHeight - scrollTop
    const y = top + (rowHeight - barHeight) / 2
    if (!pod) box('raised', 0, top, width, rowHeight)
    pen.textAlign = 'left'
    pen.font = `${pod ? '' : '600 '}12px ui-sans-serif, system-ui, sans-serif`
    pen.fillStyle = colour('ink')
    pen.fillText(shorten(label, pod ? scale.left - 20 : width - 12), pod ? 14 : 6, top + 15)
    if (!pod) continue
    for (const bar of barsOf(pod, scale, nowMs))
      box(
        bar.kind,
        bar.x,
        bar.part === 'whole' ? y : y + 3,
        bar.width,
        bar.part === 'whole' ? barHeight : barHeight - 6,
      )
    const grace = graceOf(pod, scale)
    pen.strokeStyle = colour(pod.uid === selectedUid ? 'accent' : 'grace')
    if (grace) pen.strokeRect(grace.x, y - 2.5, grace.width, barHeight + 5)
    if (pod.uid === selectedUid) pen.strokeRect(1, top + 1, width - 2, rowHeight - 2)
    for (const { x, kind } of marksOf(pod.marks, scale)) {
      pen.fillStyle = colour('ink')
      pen.beginPath()
      pen.arc(x, top + 11, 6, 0, 7)
      pen.fill()
      pen.fillStyle = colour('paper')
      pen.font = '700 9px ui-sans-serif, sans-serif'
      pen.textAlign = 'center'
      pen.fillText(markLetters[kind], x, top + 14.5)
    }
  }
}
