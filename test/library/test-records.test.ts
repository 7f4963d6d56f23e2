import { createReadStream, existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type Cluster, type Pod, resources, startCluster } from '../../library/index.ts'
import type { RecordLine } from '../../shared/record/format.ts'
import { readRecord } from '../../shared/record/reader.ts'
import { Story } from '../../ui/story/story.ts'
import { scratchFolder } from '../harness/scratch.ts'

const { pods } = resources
const folder = join(scratchFolder(t, 'records'), 'of-tests')
const cluster = await startCluster({ simulatedNodes: 1, time: 'virtual', recordOnFailure: folder })
t.teardown(() => cluster.close())

async function linesOf(file: string): Promise<RecordLine[]> {
  const lines: RecordLine[] = []
  for await (const line of readRecord(createReadStream(file))) lines.push(line)
  return lines
}

async function runPod(name: string, { client, clock, waitFor }: Cluster = cluster): Promise<void> {
  const target = { namespace: 'default', name }
  await client.create(pods, { metadata: target, spec: { containers: [{ name: 'main', image: 'x' }] } }, target)
  await clock.advance('5s')
  await waitFor<Pod>(pods, target, ({ status }) => status?.phase === 'Running')
}

const tap = (name: string, passing: boolean) => ({
  name,
  fullname: `test/x.test.ts > TAP > ${name}`,
  passing: () => passing,
})

t.test('a test that passes leaves nothing, and its changes are old news for the next', async (t) => {
  await runPod('first')
  t.equal(await cluster.afterTest(tap('passes', true)), undefined)
  t.notOk(existsSync(folder))
  await runPod('second')
  const file = (await cluster.afterTest(tap('a pod: runs / ends?', false)))!
  t.equal(file, join(folder, 'a-pod-runs-ends.ndjson'))
  t.equal(statSync(file).mode & 0o777, 0o600, 'for its user alone')
  const lines = await linesOf(file)
  t.match(lines[0], { type: 'HEADER', title: 'a pod: runs / ends?' })
  t.match(lines.at(-1), { type: 'MARK', level: 'failure', text: 'failed: a pod: runs / ends?' })
  const synced = lines.findIndex(({ type }) => type === 'SYNCED')
  const added = (name: string): number =>
    lines.findIndex((line) => line.type === 'ADDED' && line.object.kind === 'Pod' && line.object.metadata.name === name)
  t.ok(added('first') < synced && added('second') > synced)
  const story = new Story()
  for (const line of lines) story.add(line)
  t.match(story.moments, [{ kind: 'failure', atMs: cluster.clock.now() }], 'the page marks the moment')
  t.equal(story.podNamed('default', 'second')?.phases.at(-1)?.value, 'Ready')
})

t.test('what vitest and node:test give', async (t) => {
  const vitest = (state: string) =>
    Object.assign(() => {}, {
      task: { name: 'runs', suite: { name: 'a pod' }, result: { state, errors: [{ message: 'expected 1' }] } },
    })
  t.equal(await cluster.afterTest(vitest('pass')), undefined)
  const file = (await cluster.afterTest(vitest('fail')))!
  t.equal(file, join(folder, 'a-pod-runs.ndjson'))
  t.match((await linesOf(file)).at(-1), { text: 'failed: a pod > runs: expected 1' })
  const error = new Error('test failed', { cause: new Error('expected 2') })
  const nodeTest = (passed: boolean) => ({ name: 'runs', fullName: 'a pod > runs', passed, error })
  t.equal(await cluster.afterTest(nodeTest(true)), undefined)
  const other = (await cluster.afterTest(nodeTest(false)))!
  t.equal(other, join(folder, 'a-pod-runs-2.ndjson'), 'no record is overwritten')
  t.match((await linesOf(other)).at(-1), { text: 'failed: a pod > runs: expected 2' })
})

t.test('other runners', async (t) => {
  for (const given of [undefined, null, {}, 'name', { name: 'x' }])
    await t.rejects(cluster.afterTest(given as never), /afterTest takes what tap, vitest or node:test give/)
  t.equal(await cluster.keepRecord('../../../etc/😀', 'it is so'), join(folder, 'etc.ndjson'))
  t.equal(await cluster.keepRecord('', 'x'.repeat(5_000)), join(folder, 'test.ndjson'))
  t.match((await linesOf(join(folder, 'etc.ndjson'))).at(-1), { text: 'failed: ../../../etc/😀: it is so' })
  t.ok(readdirSync(folder).length >= 5)
})

t.test('without the option', async (t) => {
  const other = await startCluster({ apiOnly: true })
  t.teardown(() => other.close())
  t.equal(await other.afterTest(tap('fails', false)), undefined)
  await t.rejects(other.keepRecord('x'), /startCluster\(\{ recordOnFailure \}\)/)
  await t.rejects(startCluster({ recordOnFailure: 7 as never }), /recordOnFailure/)
})
