/** A page that is opened when all is over: it shows what happened before, and the log of what runs. */
import t from 'tap'
import { pods, terminations } from '../../shared/client/resources.ts'
import { noBrowser, startBrowser, visit } from '../harness/browser.ts'
import { startCommand, startTestCluster } from '../harness/cluster.ts'
import { followPod, isReady, podOf } from '../harness/pods.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'

t.setTimeout(300_000)
if (noBrowser) skipOrFail(t, noBrowser)
else await main()

async function main(): Promise<void> {
  const { client, stateDir } = await startTestCluster(t)
  const namespace = 'default'
  const start = async (name: string, script: string, spec = {}): Promise<void> => {
    await client.create(pods, podOf({ name, command: ['sh', '-c', script], spec }), { namespace })
    await (await followPod(client, { namespace, name })).until(isReady, 'to be ready')
  }
  await start('stubborn', "trap '' TERM; while :; do sleep 0.1; done", { terminationGracePeriodSeconds: 1 })
  await start('talks', 'echo one; echo two; exec sleep 1000')
  await client.create(pods, podOf({ name: 'crashes', command: ['sh', '-c', 'exit 3'] }), { namespace })
  await client.delete(pods, { namespace, name: 'stubborn' }, { reason: 'Update' })
  const records = async () => (await client.list(terminations, { namespace })).items.length
  await until(records, { what: 'the record of its end' })
  await (await followPod(client, { namespace, name: 'crashes' })).until(
    ({ status }) => status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CrashLoopBackOff',
    'to be in back-off',
  )
  const browser = await startBrowser(t)
  const page = await (await browser.newContext({ ignoreHTTPSErrors: true })).newPage()
  const errors: string[] = []
  page.on('pageerror', ({ message }) => errors.push(message))
  const failing = new Set(['stream', 'log'])
  await page.route(/\/kubestage\/ui\/(stream|log\?.*)$/, (route) => {
    const [, name = ''] = /ui\/([a-z]+)/.exec(route.request().url()) ?? []
    return failing.has(name) ? route.abort() : route.continue()
  })
  await visit(page, async () => {
    const command = startCommand(t, ['ui', `--state-dir=${stateDir}`])
    await command.ended
    // The fragment of the address stays when the link leads to the page.
    return `${command.stdout().trim()}#timeline?pod=default/talks&filter=default`
  })

  await t.test('a page whose first requests fail says so, and sends them again', async () => {
    for (const name of ['stream', 'log']) {
      await page.getByText('trying again').waitFor()
      failing.delete(name)
    }
    await page.unrouteAll()
  })
  await t.test('the log of the pod that the address names', async (t) => {
    const pane = page.getByRole('region', { name: 'Pod talks' })
    const log = pane.getByRole('region', { name: 'Last log lines' })
    await log.getByText('two').waitFor()
    t.match(await log.innerText(), /^one\ntwo\n?$/)
    t.match(await pane.innerText(), /Started/, 'and its events')
  })
  await t.test('the life of a pod that was gone before, with its times', async (t) => {
    const row = page.locator('[data-pod=stubborn]')
    await row.waitFor()
    for (const phase of ['Pending', 'Ready', 'Terminating', 'kill'])
      t.ok(await row.locator(`[data-bar=${phase}]`).count(), phase)
    t.match(await row.locator('[data-chip]').getAttribute('data-chip'), /^137 · ignored TERM · \d\.\d s$/)
    t.ok(await row.locator('[data-mark=kill]').count(), 'the SIGKILL has a letter')
    await page.getByRole('searchbox').fill('137 ignored')
    await until(async () => (await page.locator('[data-pod]').count()) === 1, { what: 'the pod that was killed' })
    await page.getByRole('searchbox').fill('')
  })
  await t.test('a crash loop is not calm', async (t) => {
    const row = page.locator('[data-pod=crashes]')
    await row.waitFor()
    t.ok(await row.locator('[data-bar=BackOff]').count())
    await row.click()
    const pane = page.getByRole('region', { name: 'Pod crashes' })
    await pane.getByText(/(crashed|CrashLoopBackOff) · exit code 3/).waitFor()
    const widest = await row
      .locator('[data-bar=BackOff]')
      .evaluateAll((bars) => Math.max(...bars.map((bar) => Number(bar.getAttribute('width')))))
    t.ok(widest > 20, 'it waits longer than it runs')
    await page.getByRole('searchbox').fill('3 crashes')
    await until(async () => (await page.locator('[data-pod]').count()) === 1, { what: 'the pod with that exit code' })
  })
  t.same(errors, [])
}
