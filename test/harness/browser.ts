import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'
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
