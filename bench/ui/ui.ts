/// <reference lib="dom" />
/**
 * What the page of a cluster takes: time until it can be used, the server's work for it, and how far it is behind.
 * A real Chromium opens it.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { type Browser, chromium, type Page } from 'playwright-core'
import { realClock } from '../../shared/clock/real-clock.ts'
import { Http2Connection, type Request, type Target } from '../http2-connection.ts'
import { load, median } from '../load.ts'
import { CONNECTIONS, create, patch } from '../measure.ts'
import { builtPackage } from '../package.ts'
import type { Server } from '../processes.ts'
import type { Row } from '../report.ts'
import { measureLongRecord } from './long-record.ts'

const STORED = 1_000
const CREATES = 2_000
const CHANGES_PER_SECOND = 500
const CHANGES_SECONDS = 10
/** Changes are sent in so many parts of a second. */
const TICKS = 50
const WAIT_MS = 60_000

async function answerOf(target: Target, request: Request): Promise<string> {
  const connection = await Http2Connection.open(target)
  let text = ''
  await connection.request(request, (payload) => {
    text += payload
  })
  connection.close()
  return text
}

async function linkTo(target: Target): Promise<string> {
  const answer = await answerOf(target, { method: 'POST', path: '/kubestage/v1/ui-links' })
  return `https://${target.host}:${target.port}${(JSON.parse(answer) as { path: string }).path}`
}

/** Runs in the page. */
const shows = (text: string): boolean => document.body?.textContent?.includes(text) === true

/** Runs in the page, which also shows pods that are gone. */
const hasPods = (count: number): boolean => {
  const [, shown = '0'] = document.body?.textContent?.match(/Pods \((\d+)\)/) ?? []
  return Number(shown) >= count
}

/** Resolves when the page shows the text; polls often, since the time counts. */
async function shown(page: Page, text: string): Promise<void> {
  await page.waitForFunction(shows, text, { polling: 20, timeout: WAIT_MS })
}

/** A mark that the page shows among what happened. */
async function mark(target: Target, text: string): Promise<void> {
  const body = Buffer.from(JSON.stringify({ type: 'MARK', text, level: 'note' }))
  await answerOf(target, { method: 'POST', path: '/kubestage/v1/record', contentType: 'application/json', body })
}

async function openPage(browser: Browser, target: Target): Promise<{ page: Page; ms: number }> {
  const context = await browser.newContext({ ignoreHTTPSErrors: true })
  const page = await context.newPage()
  const link = await linkTo(target)
  const startedMs = realClock.monotonic()
  await page.goto(link, { waitUntil: 'commit' })
  await page.waitForFunction(hasPods, STORED, { polling: 20, timeout: WAIT_MS })
  return { page, ms: realClock.monotonic() - startedMs }
}

/** CPU time of the server per create, in µs, with a page open or without one. */
async function createCost(server: Server, name: string): Promise<number> {
  let before = 0
  const begin = (): void => {
    before = server.cpuMs()
  }
  const request = (i: number): Request => create(`${name}-${i}`)
  await load(server.target, { count: CREATES, connections: CONNECTIONS, request, begin })
  const cost = ((server.cpuMs() - before) * 1000) / CREATES
  const remove = (i: number): Request => {
    const path = `/api/v1/namespaces/bench/pods/${name}-${i}?gracePeriodSeconds=0`
    return { method: 'DELETE', path }
  }
  await load(server.target, { count: CREATES, connections: CONNECTIONS, request: remove })
  return cost
}

/** In turns; the first round is not counted. */
async function measureCost(browser: Browser, server: Server, rounds: number): Promise<Row> {
  const costs = { without: [] as number[], with: [] as number[] }
  for (let i = 0; i <= rounds; i++) {
    const without = await createCost(server, `without-${i}`)
    const { page } = await openPage(browser, server.target)
    const withPage = await createCost(server, `with-${i}`)
    await page.context().close()
    if (i === 0) continue
    costs.without.push(without)
    costs.with.push(withPage)
  }
  const [ours, ceiling] = [median(costs.with), median(costs.without)]
  const what = 'create with an open page, CPU time of the server; without'
  return { what, unit: 'µs', ours, ceiling, goal: 1.02, smallerIsBetter: true }
}

/** How long after the last change the page shows what came after it. */
async function measureLive(browser: Browser, { target }: Server): Promise<Row[]> {
  const { page } = await openPage(browser, target)
  const connections = await Promise.all(Array.from({ length: 8 }, () => Http2Connection.open(target)))
  const answers: Promise<unknown>[] = []
  const startedMs = realClock.monotonic()
  const perTick = CHANGES_PER_SECOND / TICKS
  for (let tick = 0; tick < CHANGES_SECONDS * TICKS; tick++) {
    for (let i = tick * perTick; i < (tick + 1) * perTick; i++)
      answers.push(connections[i % connections.length]!.request(patch(i, `live-${startedMs}`)))
    await realClock.sleep(Math.max(0, startedMs + ((tick + 1) * 1000) / TICKS - realClock.monotonic()))
  }
  await Promise.all(answers)
  const perSecond = (answers.length / (realClock.monotonic() - startedMs)) * 1000
  const lastMs = realClock.monotonic()
  await mark(target, 'the last change')
  await shown(page, 'the last change')
  const behindMs = realClock.monotonic() - lastMs
  for (const connection of connections) connection.close()
  await page.context().close()
  return [
    { what: 'changes with an open page', unit: '/s', ours: perSecond, limit: CHANGES_PER_SECOND * 0.95 },
    { what: 'how far the page is behind then', unit: 'ms', ours: behindMs, limit: 1_000, smallerIsBetter: true },
  ]
}

/** Of a server without pods. `program`: Chromium. */
export async function measureUi(
  server: Server,
  { rounds, program }: { rounds: number; program: string },
): Promise<Row[]> {
  await load(server.target, { count: STORED, connections: CONNECTIONS, request: (i) => create(`stored-${i}`) })
  const files = ['main.js', 'main.css'].map((file) => readFileSync(join(builtPackage(), 'dist', 'ui', 'page', file)))
  const kilobytes = files.reduce((sum, bytes) => sum + gzipSync(bytes).length, 0) / 1000
  const browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox'] })
  try {
    const times: number[] = []
    for (let i = 0; i <= rounds; i++) {
      const { page, ms } = await openPage(browser, server.target)
      if (i > 0) times.push(ms)
      await page.context().close()
    }
    const what = `page of ${STORED.toLocaleString('en')} pods: link to usable`
    return [
      { what: 'page, script and styles, gzipped', unit: 'kB', ours: kilobytes, limit: 250, smallerIsBetter: true },
      { what, unit: 'ms', ours: median(times), limit: 1_000, smallerIsBetter: true },
      await measureCost(browser, server, rounds),
      ...(await measureLive(browser, server)),
      ...(await measureLongRecord(browser)),
    ]
  } finally {
    await browser.close()
  }
}
