import { h, type JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { PodStory } from '../story/model.ts'
import type { TimeWindow } from '../views/time-axis.ts'
import { rowHeight } from '../views/timeline/geometry.ts'
import { labelWidth, Overview, Timeline, TimelineHead, type TimelineProps } from '../views/timeline/timeline.ts'
import { draw } from './canvas.ts'
import { panned, windowAfterKey, zoomed } from './window.ts'

/** Limits the lanes that are drawn as SVG. More are drawn on a canvas. */
const mostSvgRows = 400

/** A pointer that moves less than this selects what is below it. */
const clickPixels = 3

interface Props extends TimelineProps {
  whole: TimeWindow
  onWindow(window: TimeWindow): void
  onSelect(pod: PodStory): void
}

export function Chart(props: Props): JSX.Element {
  const { story, rows, window, whole, width, onWindow } = props
  const drag = useRef<{ x: number; window: TimeWindow } | undefined>(undefined)
  const hasMoved = useRef(false)
  const chartWidth = width - labelWidth(width) - 8
  const handlers = {
    onKeyDown(event: KeyboardEvent) {
      const next = windowAfterKey(event.key, window, whole)
      if (!next) return
      event.preventDefault()
      onWindow(next)
    },
    onWheel(event: WheelEvent) {
      if (!event.ctrlKey && !event.shiftKey && Math.abs(event.deltaX) <= Math.abs(event.deltaY)) return
      event.preventDefault()
      const share = (event.offsetX - labelWidth(width)) / chartWidth
      const delta = event.deltaX || event.deltaY
      onWindow(event.ctrlKey ? zoomed(window, Math.exp(event.deltaY / 300), share) : panned(window, delta / chartWidth))
    },
    onPointerDown(event: PointerEvent) {
      drag.current = { x: event.clientX, window }
      hasMoved.current = false
    },
    onPointerMove(event: PointerEvent) {
      const begin = drag.current
      if (!begin || !(event.buttons & 1)) return
      hasMoved.current ||= Math.abs(begin.x - event.clientX) > clickPixels
      if (hasMoved.current) onWindow(panned(begin.window, (begin.x - event.clientX) / chartWidth))
    },
  }
  const clicks = {
    onClickCapture(event: MouseEvent) {
      if (hasMoved.current) event.stopPropagation()
      hasMoved.current = false
    },
  }
  const label = 'Timeline: arrows move, plus and minus zoom, 0 shows all'
  return h('div', null, [
    h(Brush, { story, window, whole, width, onWindow }),
    h(TimelineHead, { story, window, width }),
    h('div', { class: 'chart', tabIndex: 0, role: 'group', 'aria-label': label, ...handlers, ...clicks }, [
      rows.length > mostSvgRows ? h(Lanes, props) : h(Timeline, props),
    ]),
  ])
}

/** Shows the lanes on a canvas as high as the visible part. */
function Lanes({ rows, window, width, nowMs, selectedUid, onSelect }: Props): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null)
  const [scrollTop, setScrollTop] = useState(0)
  const height = Math.min(rows.length * rowHeight, Math.round(innerHeight * 0.62) - 2)
  useEffect(() => {
    const frame = canvas.current?.closest('.chart')
    const onScroll = (): void => setScrollTop(frame?.scrollTop ?? 0)
    frame?.addEventListener('scroll', onScroll, { passive: true })
    return () => frame?.removeEventListener('scroll', onScroll)
  }, [])
  useEffect(() => {
    if (canvas.current) draw(canvas.current, { rows, window, width, height, scrollTop, nowMs, selectedUid })
  })
  const onClick = (event: MouseEvent): void => {
    const pod = rows[Math.floor((event.offsetY + scrollTop) / rowHeight)]?.pod
    if (pod) onSelect(pod)
  }
  const label = `Timeline of ${rows.length} lanes; the table of pods says the same in words`
  return h('div', { style: { height: rows.length * rowHeight } }, [
    h('canvas', { ref: canvas, role: 'img', 'aria-label': label, style: { width, height }, onClick }),
  ])
}

function Brush({ story, window, whole, width, onWindow }: Omit<Props, 'rows' | 'nowMs' | 'onSelect'>): JSX.Element {
  const begin = useRef<number | undefined>(undefined)
  const timeAt = (event: PointerEvent): number => {
    const left = (event.currentTarget as Element).getBoundingClientRect().left + labelWidth(width)
    const share = Math.min(1, Math.max(0, (event.clientX - left) / (width - labelWidth(width) - 8)))
    return whole.fromMs + share * (whole.toMs - whole.fromMs)
  }
  const handlers = {
    onPointerDown(event: PointerEvent) {
      begin.current = timeAt(event)
      ;(event.currentTarget as Element).setPointerCapture(event.pointerId)
    },
    onPointerMove(event: PointerEvent) {
      if (begin.current === undefined || !(event.buttons & 1)) return
      const times = [begin.current, timeAt(event)].sort((a, b) => a - b) as [number, number]
      if (times[1] - times[0] > 20) onWindow({ fromMs: times[0], toMs: times[1] })
    },
  }
  return h('div', handlers, h(Overview, { story, window, whole, width }))
}
