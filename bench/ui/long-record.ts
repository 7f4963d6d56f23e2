/// <reference lib="dom" />
/** A record of ten thousand pods over an hour: whether the page still moves, and what memory it takes. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Browser } from 'playwright-core'
import { wholePage } from '../../apiserver/ui/pages.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import type { RecordLine } from '../../shared/record/format.ts'
import type { Row } from '../report.ts'

const PODS = 10_000
const NODES = 100
const HOUR_MS = 3_600_000
const PANNING_MS = 5_000
const originMs = Date.UTC(2026, 0, 1)

const timeAt = (ms: number): string => new Date(originMs + ms).toISOString()

/** Pods that begin evenly over the hour, and live for ten minutes. */
function* linesOf(): Generator<RecordLine> {
  yield { type: 'HEADER', format: 'kubestage.dev/record', version: 1, at: timeAt(0), writer: 'bench', title: 'an hour' }
  yield { type: 'SYNCED', at: timeAt(0) }
  const moments: { ms: number; line: RecordLine }[] = []
  for (let index = 0; index < PODS; index++) {
    const bornMs = (index / PODS) * HOUR_MS
    const changes: [RecordLine['type'], number, string, boolean][] = [
      ['ADDED', 0, 'Pending', false],
      ['MODIFIED', 800, 'Running', false],
      ['MODIFIED', 1_500, 'Running', true],
      ['DELETED', 600_000, 'Succeeded', false],
    ]
    for (const [type, afterMs, phase, isReady] of changes) {
      const ms = Math.min(bornMs + afterMs, HOUR_MS)
      moments.push({
        ms,
        line: { type, at: timeAt(ms), object: podOf(index, phase, isReady) } as unknown as RecordLine,
      })
    }
  }
  for (const { line } of moments.sort((a, b) => a.ms - b.ms)) yield line
}

const podOf = (index: number, phase: string, isReady: boolean): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: `pod-${index}`,
    namespace: 'default',
    uid: `uid-${index}`,
    labels: { app: `app-${index % 50}` },
    creationTimestamp: timeAt((index / PODS) * HOUR_MS),
  },
  spec: { nodeName: `node-${index % NODES}`, containers: [{ name: 'main', image: 'x' }] },
  status: { phase, conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] },
})

/** Runs in the page: moves the chart to and fro, and counts the frames that were drawn meanwhile. */
async function pan(durationMs: number): Promise<number> {
  const chart = document.querySelector('.chart')
  if (!chart) throw new Error('no chart')
  const { left, top, width } = chart.getBoundingClientRect()
  const send = (type: string, x: number, buttons: number): void => {
    const at = { clientX: left + x, clientY: top + 20, buttons, pointerId: 1, bubbles: true }
    chart.dispatchEvent(new PointerEvent(type, at))
  }
  send('pointerdown', width / 2, 1)
  let frames = 0
  const startedMs = performance.now()
  for (;;) {
    const now = await new Promise<number>((resolve) => requestAnimationFrame(resolve))
    if (now - startedMs > durationMs) break
    frames++
    send('pointermove', width / 2 + Math.sin(frames / 20) * 200, 1)
  }
  send('pointerup', width / 2, 0)
  return (frames / (performance.now() - startedMs)) * 1_000
}

export async function measureLongRecord(browser: Browser): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'kubestage-bench-'))
  const file = join(folder, 'page.html')
  writeFileSync(file, (await wholePage([...linesOf()].map((line) => JSON.stringify(line)))).html)
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } })
  try {
    const page = await context.newPage()
    const startedMs = realClock.monotonic()
    await page.goto(pathToFileURL(file).href)
    await page.getByText(`Pods (${PODS})`).waitFor({ timeout: 60_000 })
    const openMs = realClock.monotonic() - startedMs
    await page.evaluate(pan, 1_000)
    const frames = await page.evaluate(pan, PANNING_MS)
    const session = await context.newCDPSession(page)
    await session.send('HeapProfiler.collectGarbage')
    const { usedSize } = await session.send('Runtime.getHeapUsage')
    const pods = `${PODS.toLocaleString('en')} pods over an hour`
    return [
      { what: `${pods}: file to usable`, unit: 'ms', ours: openMs, smallerIsBetter: true },
      { what: `${pods}: frames while the chart is moved`, unit: '/s', ours: frames, limit: 50 },
      { what: `${pods}: heap of the page`, unit: 'MB', ours: usedSize / 1e6, limit: 300, smallerIsBetter: true },
    ]
  } finally {
    await context.close()
    rmSync(folder, { recursive: true })
  }
}
