import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, chromium, type Page } from 'playwright-core'
import type { Test } from 'tap'

const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync)

/** Why there is no browser; undefined when there is one. */
export const noBrowser = executablePath ? undefined : 'chromium is not installed (apt-get install chromium)'

/** A headless chromium, gone with the test. */
export async function startBrowser(t: Test): Promise<Browser> {
  // A sandbox of its own is refused to root.
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
  t.teardown(() => browser.close())
  return browser
}

/**
 * Opens a page, once more if chromium gave up since a network of the machine came or went meanwhile, such as that of
 * another test's pods.
 */
export async function visit(page: Page, link: () => string | Promise<string>): Promise<void> {
  const opened = await page.goto(await link()).catch((error: Error) => error)
  if (!(opened instanceof Error)) return
  if (!opened.message.includes('ERR_NETWORK_CHANGED')) throw opened
  await page.goto(await link())
}

/** What axe-core finds. */
export async function violations(page: Page): Promise<string[]> {
  const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
  await page.evaluate(source)
  const found = (await page.evaluate('axe.run(document).then(({ violations }) => violations)')) as {
    id: string
    nodes: { html: string; failureSummary: string }[]
  }[]
  return found.map(({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`)
}
