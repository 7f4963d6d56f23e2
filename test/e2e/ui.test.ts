/// <reference lib="dom" />
/** The page in a real browser, with the record of a real cluster: what is seen, and that it is accessible. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Locator, Page } from 'playwright-core'
import t from 'tap'
import type { Pod } from '../../shared/api/types.ts'
import type { Deployment } from '../../shared/api/workloads/workloads.ts'
import { deployments, pods, services, terminations } from '../../shared/client/resources.ts'
import type { RecordLine } from '../../shared/record/format.ts'
import { Story } from '../../ui/story/story.ts'
import { noBrowser, startBrowser, violations, visit } from '../harness/browser.ts'
import { repository, startCommand, startTestCluster } from '../harness/cluster.ts'
import { followPod, isReady, podOf, politeScript } from '../harness/pods.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { skipOrFail } from '../harness/skip.ts'
import { startSite } from '../harness/ui-site.ts'
import { until } from '../harness/until.ts'

const keptFields = new Set(['type', 'kind', 'at', 'uid', 'podUID', 'format', 'phase'])

const wholeLines = (text: string): string => text.slice(0, text.lastIndexOf('\n') + 1)

t.setTimeout(300_000)
if (noBrowser) skipOrFail(t, noBrowser)
else await main()

async function main(): Promise<void> {
  const text = await recordOfCluster()
  const story = storyOf(text)
  const site = await startSite(t)
  const browser = await startBrowser(t)
  site.show(text)
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: 'reduce' })
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const page = await context.newPage()
  const errors: string[] = []
  page.on('pageerror', ({ message }) => errors.push(message))
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()))
  await visit(page, () => site.url)
  await page.getByText('read to its end').waitFor()
  await page.getByRole('img', { name: /^Timeline of/ }).waitFor()

  await t.test('the timeline: bars are where the record has them', async (t) => {
    await shot(page, 'timeline')
    const terminating = story.podNamed('default', 'told')!.phases.find(({ value }) => value === 'Terminating')!
    const bar = page.locator('[data-pod=told] [data-bar=Terminating]')
    const x = await placeOf(page.locator('svg.timeline'), terminating.startMs)
    t.ok(Math.abs(Number(await bar.getAttribute('x')) - x) < 0.5, 'Terminating begins where it began')
    t.equal(await page.locator('[data-pod=told] [data-bar=hook]').count(), 1, 'with the segment of its hook')
    t.equal(await page.locator('[data-pod=told] [data-bar=grace]').count(), 1, 'in the frame of its grace period')
    t.ok(await page.locator('[data-pod=evicted] [data-mark=eviction]').count(), 'the eviction is marked')
    const webs = await page.locator('[data-pod^=web-]').count()
    t.ok(webs >= 4, 'two pods, and two that replaced them')
    await page.getByRole('searchbox').fill('app=web')
    await until(async () => (await page.locator('[data-pod=told]').count()) === 0, { what: 'the filter' })
    t.equal(await page.locator('[data-pod^=web-]').count(), webs, 'all that have the label, in a browser')
    await page.getByRole('searchbox').fill('')
  })
  await t.test('one death', async (t) => {
    await page.getByRole('region', { name: 'Pods' }).getByRole('button', { name: 'told' }).click()
    const pane = page.getByRole('region', { name: 'Pod told' })
    for (const part of ['stopped', 'Update', 'Phases', 'main: PreStop', 'Scheduled'])
      t.match(await pane.innerText(), part, 'beside the timeline')
    t.equal(await page.locator('svg.timeline').count(), 1, 'which is still there')
    await shot(page, 'pane')
    await pane.getByRole('button', { name: 'One death' }).click()
    await page.getByRole('heading', { name: 'How told ended' }).waitFor()
    const words = await page.getByRole('tabpanel').innerText()
    for (const part of ['stopped in', 'kubernetes-admin', 'Update', 'draining because Update', 'PreStop', 'SIGTERM'])
      t.match(words, part)
    await shot(page, 'death')
    const pods = page.getByRole('combobox', { name: 'Pod' })
    t.match(await pods.innerText(), /evicted: /, 'the list of pods has those that ended, and how')
    await pods.selectOption({ label: (await pods.locator('option', { hasText: /^evicted/ }).textContent()) ?? '' })
    await page.getByRole('heading', { name: 'How evicted ended' }).waitFor()
  })
  await t.test('the address says what is shown', async (t) => {
    await page.getByRole('tab', { name: 'Timeline' }).click()
    await page.keyboard.press('/')
    await page.keyboard.type('app=web')
    await page.getByRole('button', { name: 'Zoom in' }).click()
    await page.locator('[data-pod^=web-]').first().click()
    const pane = page.getByRole('region', { name: /^Pod web-/ })
    await pane.getByRole('button', { name: 'Copy link' }).click()
    await page.getByText('Copied').first().waitFor()
    const copied = String(await page.evaluate('navigator.clipboard.readText()'))
    t.match(copied, /#timeline\?pod=default\/web-[^&]+&filter=app=web&from=20[^&]+Z&to=20[^&]+Z$/)
    const seen = () => page.locator('svg.timeline').evaluate((svg) => ({ ...(svg as SVGElement).dataset }))
    const before = await seen()
    const other = await context.newPage()
    await other.goto(copied)
    await other.getByRole('region', { name: (await pane.getAttribute('aria-label')) ?? '' }).waitFor()
    t.equal(await other.getByRole('searchbox').inputValue(), 'app=web')
    t.equal(await other.locator('[data-pod=told]').count(), 0)
    const drawn = await other.locator('svg.timeline').evaluate((svg) => ({ ...(svg as SVGElement).dataset }))
    for (const edge of ['from', 'to'] as const)
      t.ok(Math.abs(Number(drawn[edge]) - Number(before[edge])) < 1, `the same ${edge}`)
    await other.close()
  })
  await t.test('keys: help, and what closes', async (t) => {
    await page.getByRole('tab', { name: 'Timeline' }).focus()
    await page.keyboard.press('?')
    const help = page.getByRole('dialog', { name: 'Keys' })
    t.match(await help.innerText(), /search/)
    await page.keyboard.press('Escape')
    await help.waitFor({ state: 'hidden' })
    t.equal(await page.getByRole('region', { name: /^Pod web-/ }).count(), 1, 'the dialog alone')
    await page.keyboard.press('Escape')
    await page.getByRole('region', { name: /^Pod web-/ }).waitFor({ state: 'detached' })
    await page.getByRole('searchbox').fill('no-such-reason')
    await page.getByText('No pod matches').waitFor()
    await page.getByRole('searchbox').fill('update told')
    await until(async () => (await page.locator('[data-pod]').count()) === 1, { what: 'the pod with that reason' })
    await page.locator('[data-pod=told] [data-chip]').waitFor() // it says how it ended
    await page.getByRole('searchbox').fill('')
    await page.getByRole('button', { name: 'All (0)' }).click()
  })
  await t.test('a drag moves the chart, and chooses no pod', async (t) => {
    const row = (await page.locator('[data-pod=told]').boundingBox())!
    await page.mouse.move(row.x + row.width / 2, row.y + 10)
    await page.mouse.down()
    await page.mouse.move(row.x + row.width / 2 + 60, row.y + 10, { steps: 4 })
    await page.mouse.up()
    t.equal(await page.getByRole('region', { name: 'Pod told' }).count(), 0)
    t.not(await page.locator('svg.timeline').getAttribute('data-from'), null)
    await page.getByRole('button', { name: 'All (0)' }).click()
  })
  await t.test('a rollout, the pod that lost requests, and why', async (t) => {
    await page.getByRole('tab', { name: 'Rollout' }).click()
    t.equal(await page.locator('path[data-set]').count(), 2, 'a line for each ReplicaSet')
    t.match(await page.getByRole('region', { name: 'Lost requests' }).innerText(), /web-.*3.*(ended|requests)/s)
    await shot(page, 'rollout')
  })
  for (const name of ['Journal', 'Nodes', 'Object'])
    await t.test(name, async (t) => {
      await page.getByRole('tab', { name }).click()
      const words = { Journal: 'kubernetes-admin', Nodes: 'node-1', Object: 'kind: Pod' }[name]!
      t.match(await page.getByRole('tabpanel').innerText(), words)
      await shot(page, name.toLowerCase())
    })
  await t.test('accessible in light and dark, and 360 px wide', async (t) => {
    for (const colorScheme of ['light', 'dark'] as const)
      for (const name of ['Timeline', 'One death', 'Rollout', 'Journal', 'Nodes', 'Object']) {
        await page.emulateMedia({ colorScheme })
        await page.getByRole('tab', { name }).click()
        t.same(await violations(page), [], `${name}, ${colorScheme}`)
      }
    await shot(page, 'dark')
    await page.setViewportSize({ width: 360, height: 700 })
    for (const name of ['Timeline', 'One death', 'Rollout', 'Journal', 'Nodes', 'Object']) {
      await page.getByRole('tab', { name }).click()
      await until(() => page.evaluate('document.documentElement.scrollWidth <= 360'), {
        what: `${name} to fit`,
        timeoutMs: 5_000,
      })
      await shot(page, `narrow-${name.replace(' ', '-').toLowerCase()}`)
      t.same(await page.evaluate(overlaps), [], `${name}: no label covers another at 360 px`)
    }
    await page.setViewportSize({ width: 375, height: 812 })
    await page.getByRole('tab', { name: 'Timeline' }).click()
    await page.locator('[data-pod=told]').click()
    await page.getByRole('region', { name: 'Pod told' }).waitFor()
    t.same(await violations(page), [], 'with the pod at the bottom')
    t.same(await page.evaluate(overlaps), [], 'no label covers another at 375 px')
    await shot(page, 'narrow-pane')
    await page.keyboard.press('Escape')
    await page.setViewportSize({ width: 1280, height: 900 })
  })
  await t.test('a node is lost, and its pods are not ready', async (t) => {
    const lossText = await recordOfLoss()
    const node = [...storyOf(lossText).nodes.values()][0]!
    const lost = node.states.find(({ value }) => value === 'Lost')!
    site.show(lossText)
    await page.reload()
    await page.getByText('read to its end').waitFor()
    await page.getByRole('tab', { name: 'Nodes' }).click()
    const bar = page.locator('[data-node=node-1] [data-bar=Lost]')
    const x = await placeOf(page.locator('svg.nodes'), lost.startMs)
    t.ok(Math.abs(Number(await bar.getAttribute('x')) - x) < 0.5, 'it is lost from where the record says')
    const words = await page.getByRole('tabpanel').innerText()
    for (const part of ['Lost', 'node.kubernetes.io/unreachable', 'Kubelet stopped posting node status'])
      t.match(words, part)
    await shot(page, 'lost')
    await page.getByRole('tab', { name: 'Timeline' }).click()
    const notReady = page.locator('[data-pod=stays] [data-bar=Running]').last()
    t.ok(Number(await notReady.getAttribute('x')) >= x - 1, 'its pod is not ready from then on')
    const band = page.locator('[data-pod=stays] [data-bar=band]')
    t.match(await band.locator('title').textContent(), 'node-1 lost', 'and the loss is a band over it')
    t.ok(Math.abs(Number(await band.locator('rect').first().getAttribute('x')) - x) < 1)
  })
  let countBefore = 0
  await t.test('hostile strings are text', async (t) => {
    site.show(hostile(text))
    await page.reload()
    await page.getByText('was cut off').waitFor()
    await page.getByText('<img').first().waitFor()
    for (const name of ['One death', 'Rollout', 'Journal', 'Nodes', 'Timeline']) {
      await page.getByRole('tab', { name }).click()
      t.equal(await page.evaluate("document.querySelectorAll('img, #page script, iframe').length"), 0, name)
    }
    t.notOk(await page.evaluate('globalThis.hurt'), 'nothing was executed')
    countBefore = await page.locator('svg [data-bar]').count()
  })
  await t.test('an exported page, and pictures, of the same hostile record', async (t) => {
    const folder = scratchFolder(t, 'export')
    const file = join(folder, 'cluster.record')
    writeFileSync(file, hostile(text))
    const made = async (name: string, ...flags: string[]): Promise<string> => {
      const command = startCommand(t, ['export', file, ...flags, '-o', join(folder, name)])
      t.equal(await command.ended, 0, command.output())
      return pathToFileURL(join(folder, name)).href
    }
    const url = await made('page.html', '--html')
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    await page.goto(url)
    await page.getByText('<img').first().waitFor()
    t.equal(await page.locator('svg [data-bar]').count(), countBefore, 'the same bars as the page that is served')
    t.equal(await page.evaluate("document.querySelectorAll('img, iframe').length"), 0)
    t.notOk(await page.evaluate('globalThis.hurt'), 'nothing was executed')
    t.same(
      asked.filter((each) => each !== url && !each.startsWith('data:')),
      [],
      'it needs nothing else',
    )
    for (const view of ['timeline', 'death', 'rollout']) {
      await page.goto(await made(`${view}.svg`, '--svg', `--view=${view}`))
      t.equal(await page.evaluate('document.documentElement.tagName'), 'svg', `${view} is well formed`)
      t.notOk(await page.evaluate("document.querySelector('parsererror')"), view)
      t.ok(await page.evaluate("document.querySelectorAll('rect, path').length > 1"), `${view} has bars`)
      t.notOk(await page.evaluate('globalThis.hurt'), 'nothing was executed')
    }
  })
  t.same(errors, [], 'the page reports no error')
}

/** A deletion with a reason and a hook, an eviction, a rollout; and the load of one that loses requests. */
async function recordOfCluster(): Promise<string> {
  const { client, stateDir } = await startTestCluster(t)
  const file = join(stateDir, 'cluster.record')
  const recording = startCommand(t, ['record', file, `--state-dir=${stateDir}`, '--title=a test'])
  await recording.printed('Recording')
  const namespace = 'default'
  const command = ['sh', '-c', politeScript]
  const preStop = { exec: { command: ['sh', '-c', 'echo draining because $KUBE_POD_TERM_REASON; sleep 0.5'] } }
  const spec = { terminationGracePeriodSeconds: 3 }
  for (const name of ['told', 'evicted']) {
    await client.create(pods, podOf({ name, command, preStop, spec }), { namespace })
    await (await followPod(client, { namespace, name })).until(isReady, 'to be ready')
  }
  await client.delete(pods, { namespace, name: 'told' }, { reason: 'Update' })
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'evicted', namespace } }
  await client.create(pods, eviction, { namespace, name: 'evicted', subresource: 'eviction' } as never)
  const labels = { app: 'web' }
  const service = { metadata: { name: 'web' }, spec: { selector: labels, ports: [{ port: 80 }] } }
  await client.create(services, service as never, { namespace })
  const template = { metadata: { labels }, spec: { ...spec, ...podOf({ name: 'x', command }).spec } }
  await client.create(
    deployments,
    { metadata: { name: 'web' }, spec: { replicas: 2, selector: { matchLabels: labels }, template } } as Deployment,
    { namespace },
  )
  const isDone = async (generation: number): Promise<boolean> => {
    const { status } = await client.get<Deployment>(deployments, { namespace, name: 'web' })
    const { observedGeneration = 0, updatedReplicas, replicas, readyReplicas } = status ?? {}
    return observedGeneration >= generation && updatedReplicas === 2 && replicas === 2 && readyReplicas === 2
  }
  await until(() => isDone(1), { what: 'the Deployment' })
  const changed = { spec: { template: { metadata: { annotations: { version: '2' } } } } }
  await client.patch(deployments, { namespace, name: 'web' }, changed)
  await until(() => isDone(2), { what: 'the rollout' })
  await until(async () => (await client.list(terminations, { namespace })).items.length >= 4, { what: 'four records' })
  const left = async () => (await client.list(pods, { namespace })).items.length
  await until(async () => (await left()) === 2, { what: 'the ended pods to go' })
  await recording.stop()
  const text = readFileSync(file, 'utf8')
  return text + loadOf(storyOf(text))
}

/** A node of which nothing is heard any more, and its pod. */
async function recordOfLoss(): Promise<string> {
  const { client, stateDir } = await startTestCluster(t, '--time-scale=4', '--node-monitor-grace-period=20s')
  const namespace = 'default'
  await client.create(pods, podOf({ name: 'stays', command: ['sh', '-c', politeScript] }), { namespace })
  await (await followPod(client, { namespace, name: 'stays' })).until(isReady, 'to be ready')
  const file = join(stateDir, 'cluster.record')
  const recording = startCommand(t, ['record', file, `--state-dir=${stateDir}`])
  await recording.printed('Recording')
  t.equal(await startCommand(t, ['node', 'lose', 'node-1', `--state-dir=${stateDir}`]).ended, 0)
  const isLost = async (): Promise<boolean> => {
    const [node] = [...storyOf(wholeLines(readFileSync(file, 'utf8'))).nodes.values()]
    return node?.states.at(-1)?.value === 'Lost' && node.taints.size > 0
  }
  await until(isLost, { what: 'the node to be lost', timeoutMs: 60_000 })
  const isReadyNow = async () => isReady(await client.get<Pod>(pods, { namespace, name: 'stays' }))
  await until(async () => !(await isReadyNow()), { what: 'its pod not to be ready' })
  await recording.stop()
  return readFileSync(file, 'utf8')
}

/** Runs in the page: labels of pictures that cover each other by more than a hair. */
function overlaps(): string[] {
  const found: string[] = []
  for (const svg of document.querySelectorAll('svg.ks')) {
    const labels = [...svg.querySelectorAll('text')].map((text) => ({ text, box: text.getBoundingClientRect() }))
    for (const [index, one] of labels.entries())
      for (const other of labels.slice(index + 1)) {
        const width = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left)
        const height = Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top)
        if (width > 2 && height > 3) found.push(`${one.text.textContent} | ${other.text.textContent}`)
      }
  }
  return found
}

/** Where a time is on a picture. */
async function placeOf(picture: Locator, ms: number): Promise<number> {
  const numbers = await picture.evaluate((svg) => ({ ...(svg as SVGElement).dataset }))
  const [from, to, left, right] = ['from', 'to', 'left', 'right'].map((name) => Number(numbers[name]))
  return left! + ((ms - from!) / (to! - from!)) * (right! - left!)
}

/** What a load generator would have seen: requests lost where the first pod of the rollout ended. */
function loadOf(story: Story): string {
  const old = [...story.pods.values()].find(({ name, deaths }) => name.startsWith('web-') && deaths.length)!
  const lines = Array.from({ length: 10 }, (_, index) => {
    const ms = old.deaths[0]!.startMs + (index - 5) * 200
    const counts = { answered: 20, lost: index === 5 ? 3 : 0, cut: 0, slowestMs: 8 }
    const at = new Date(ms).toISOString()
    return JSON.stringify({ type: 'LOAD', at, seconds: 0.2, target: 'service/web', namespace: 'default', ...counts })
  })
  return `${lines.join('\n')}\n`
}

function storyOf(text: string): Story {
  const story = new Story()
  for (const line of text.split('\n').filter(Boolean)) story.add(JSON.parse(line) as RecordLine)
  return story
}

/** The same record, with every text hostile that is no time and no key. */
function hostile(text: string): string {
  const evil = '<img src=x onerror="globalThis.hurt=1">\u202e</script><script>globalThis.hurt=1</script>'
  let long = `${'x'.repeat(1_000_000)}`
  const lines = text
    .split('\n')
    .filter(Boolean)
    .map((line) =>
      JSON.stringify(JSON.parse(line), (key, value) => {
        if (typeof value !== 'string' || keptFields.has(key) || /^\d{4}-\d\d-\d\dT/.test(value)) return value
        const more = key === 'message' ? long : ''
        if (more) long = ''
        return evil + value + more
      }),
    )
  return `${lines.join('\n')}\n{"type":"ADDED","at":"2030`
}

async function shot(page: Page, name: string): Promise<void> {
  const folder = join(repository, '.tap', 'pictures')
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: join(folder, `ui-${name}.png`) })
}
