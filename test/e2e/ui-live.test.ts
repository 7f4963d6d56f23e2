/** The page of a running cluster in a real browser, from its one-time link to the end of its session. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import type { Node } from '../../shared/api/types.ts'
import { nodes, pods } from '../../shared/client/resources.ts'
import { noBrowser, startBrowser, visit } from '../harness/browser.ts'
import { startCommand, startTestCluster } from '../harness/cluster.ts'
import { podOf } from '../harness/pods.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'

t.setTimeout(300_000)
if (noBrowser) skipOrFail(t, noBrowser)
else await main()

async function main(): Promise<void> {
  const storage = `--storage=sqlite:${join(scratchFolder(t, 'ui'), 'state.db')}`
  const cluster = await startTestCluster(t, '--nodes=0', storage)
  const link = async (...flags: string[]): Promise<string> => {
    const command = startCommand(t, ['ui', ...flags, `--state-dir=${cluster.stateDir}`])
    await command.ended
    return command.stdout().trim()
  }
  const create = (name: string) =>
    cluster.client.create(pods, podOf({ name, command: ['sleep', '1'] }), { namespace: 'default' })
  const browser = await startBrowser(t)
  // Its CA is the cluster's own.
  const context = await browser.newContext({ ignoreHTTPSErrors: true })
  const page = await context.newPage()
  const refusals: string[] = []
  page.on('console', (message) => /Content Security Policy/.test(message.text()) && refusals.push(message.text()))
  let first = ''
  await create('gone')
  await cluster.client.delete(pods, { namespace: 'default', name: 'gone' })
  await create('before')

  await t.test('it is live', async (t) => {
    await visit(page, async () => {
      first = await link()
      return first
    })
    t.equal(page.url(), new URL('/kubestage/ui/', first).href, 'no secret stays in the address')
    await page.getByText('Live').first().waitFor()
    await page.getByRole('button', { name: 'before' }).waitFor()
    t.ok(await page.locator('[data-pod=gone] [data-bar=Pending]').count(), 'a pod that was gone before it was opened')
    await page.getByRole('searchbox').fill('app=web')
    await page.getByText('No pod matches').waitFor()
    await page.getByRole('searchbox').fill('')
    await create('after')
    await page.getByRole('button', { name: 'after' }).waitFor()
    await page.reload()
    await page.getByRole('button', { name: 'after' }).waitFor()
    t.equal(await page.evaluate('document.cookie'), '', 'scripts do not see the cookie')
    t.same(refusals, [], 'the page keeps to its own policy')
  })

  await t.test('a link opens one session', async () => {
    const other = await (await browser.newContext({ ignoreHTTPSErrors: true })).newPage()
    await other.goto(first)
    await other.getByText('The link was used already. Run kubestage ui for a new link.').waitFor()
    await other.goto(new URL('/kubestage/ui/', first).href)
    await other.getByText('The page needs a session.').waitFor()
  })

  await t.test('a page of another origin sees nothing of it', async (t) => {
    const target = new URL('/kubestage/ui/', first).href
    const frame = `<iframe src="${target}"></iframe><p>evil</p>`
    const evil = createServer((_, response) => response.setHeader('content-type', 'text/html').end(frame))
    await new Promise<void>((resolve) => evil.listen(0, '127.0.0.1', resolve))
    t.teardown(() => evil.close())
    const other = await context.newPage()
    // The same site for the browser, so that it may send the cookie; another origin.
    await other.goto(`http://127.0.0.1:${(evil.address() as AddressInfo).port}/`)
    await other.getByText('evil').waitFor()
    const framed = other.frames().find((one) => one !== other.mainFrame())
    t.notMatch(await framed?.evaluate('document.body?.innerText ?? ""').catch(() => ''), /Live|before/, 'no frame')
    const read = `fetch('${target}stream', { credentials: 'include' }).then(() => 'read', () => 'refused')`
    t.equal(await other.evaluate(read), 'refused')
    await other.close()
  })

  await t.test('it acts where its link says so', async (t) => {
    t.equal(await page.getByRole('button', { name: 'Delete before' }).count(), 0)
    await cluster.client.create(nodes, { metadata: { name: 'machine' } })
    const acting = await (await browser.newContext({ ignoreHTTPSErrors: true })).newPage()
    await visit(acting, () => link('--ui-actions'))
    await acting.getByRole('tab', { name: 'Nodes' }).click()
    await acting.getByRole('button', { name: 'Cordon machine', exact: true }).click()
    await acting.getByText('machine gets no more pods').waitFor()
    t.equal((await cluster.client.get<Node>(nodes, { name: 'machine' })).spec?.unschedulable, true)
    await acting.getByRole('tab', { name: 'Timeline' }).click()
    await acting.getByRole('button', { name: 'before' }).click()
    await acting.getByRole('textbox', { name: 'Reason of the deletion' }).fill('Update')
    await acting.getByRole('button', { name: 'Delete before' }).click()
    const left = async () => (await cluster.client.list(pods, { namespace: 'default' })).items.length
    await until(async () => (await left()) === 1, { what: 'the deletion of the pod' })
    await acting.context().close()
  })

  await t.test('the server starts again under the page', async (t) => {
    const { pid } = JSON.parse(readFileSync(join(cluster.stateDir, 'running.json'), 'utf8'))
    process.kill(pid, 'SIGKILL')
    await page.getByText('This session has ended').first().waitFor()
    t.ok(await page.getByRole('button', { name: 'after' }).count(), 'what was seen is still there')
    await page.reload()
    await page.getByText('The session has ended: it is older than 12 hours, or the server has started again.').waitFor()
    await visit(page, () => until(link, { what: 'a link of the next server' }))
    await page.getByRole('button', { name: 'after' }).waitFor()
  })
}
