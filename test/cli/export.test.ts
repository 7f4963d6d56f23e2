import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { repository, startCommand } from '../harness/cluster.ts'
import { scratchFolder } from '../harness/scratch.ts'

const record = (name: string): string => join(repository, 'docs', 'records', `${name}.ndjson`)
const folder = scratchFolder(t, 'export')

async function made(t: Test, ...args: string[]): Promise<string> {
  const command = startCommand(t, ['export', ...args])
  t.equal(await command.ended, 0, command.output())
  return command.stdout()
}

t.test('a picture: to a file or to standard output, the same each time', async (t) => {
  const out = join(folder, 'death.svg')
  t.equal(await made(t, record('three-ends'), '--svg', '--view=death', '-o', out), '')
  const svg = readFileSync(out, 'utf8')
  const inDocs = (name: string): string => readFileSync(join(repository, `docs/pictures/${name}.svg`), 'utf8')
  t.equal(svg, inDocs('death'), 'the picture of the README')
  t.equal(await made(t, record('rollout'), '--svg'), inDocs('timeline'))
  t.equal(await made(t, record('rollout'), '--svg', '--view=rollout'), inDocs('rollout'))
  for (const words of [
    'reason Update',
    'preStop: GET /stopping, with KUBE-POD-TERM-REASON: Update',
    'with KUBE_POD_TERM_REASON=Update',
    'SIGTERM, which it does not handle',
    'SIGKILL, exit code 137',
  ])
    t.ok(svg.includes(words), words)
  t.equal(await made(t, record('three-ends'), '--svg', '--view=death'), svg)
})

t.test('a picture says what its own signs mean, in as many lines as it needs', async (t) => {
  const legendOf = (svg: string): string => /<g class="legend">.*$/s.exec(svg)?.[0] ?? ''
  const timeline = await made(t, record('rollout'), '--svg')
  for (const words of ['Running, not ready', 'lost requests', 'probe failed', 'Service no longer offers it'])
    t.ok(legendOf(timeline).includes(words), words)
  t.notMatch(legendOf(timeline), /eviction|restart/, 'and of no others')
  const rollout = await made(t, record('rollout'), '--svg', '--view=rollout')
  t.match(legendOf(rollout), /ready pods of the old one/)
  const linesOf = (svg: string): number =>
    new Set([...legendOf(svg).matchAll(/translate\(\d+ (\d+)\)/g)].map(([, y]) => y)).size
  t.equal(linesOf(rollout), 1)
  t.equal(linesOf(await made(t, record('rollout'), '--svg', '--view=rollout', '--width=400')), 3)
  t.equal(legendOf(await made(t, record('three-ends'), '--svg', '--view=death')), '', 'a death has words of its own')
})

t.test('pods are chosen by labels or a part of their name, a rollout by its workload', async (t) => {
  const all = await made(t, record('rollout'), '--svg')
  const lanes = [...all.matchAll(/data-pod="([^"]*)"/g)].map(([, name = '']) => name)
  t.equal(lanes.length, 6)
  const one = await made(t, record('rollout'), '--svg', `--select=${lanes[1]}`)
  t.match([...one.matchAll(/data-pod="([^"]*)"/g)], [[`data-pod="${lanes[1]}"`]])
  t.equal([...one.matchAll(/data-pod=/g)].length, 1)
  t.equal(await made(t, record('rollout'), '--svg', '--select=app=web'), all)
  t.match(await made(t, record('rollout'), '--svg', '--view=rollout', '--width=400'), /width="400"/)
})

t.test('a record that was cut off', async (t) => {
  const file = join(folder, 'cut.ndjson')
  writeFileSync(file, readFileSync(record('rollout')).subarray(0, 200_000))
  const command = startCommand(t, ['export', file, '--svg', '-o', join(folder, 'cut.svg')])
  t.equal(await command.ended, 0)
  t.match(command.output(), /cut.ndjson was cut off: its last line is not whole/)
})

t.test('bad input', async (t) => {
  const refused = (words: RegExp, ...args: string[]): Promise<void> => ends(2, words, ...args)
  const ends = async (code: number, words: RegExp, ...args: string[]): Promise<void> => {
    const command = startCommand(t, ['export', ...args])
    t.equal(await command.ended, code, words.source)
    t.equal(command.stdout(), '')
    t.match(command.output(), words)
  }
  const file = record('rollout')
  await refused(/usage: kubestage export FILE \(--svg \| --html\)/, file)
  await refused(/usage: kubestage export FILE/, file, '--svg', '--html')
  await refused(/cannot read .*none|none.* does not exist|no such file/i, join(folder, 'none'), '--svg')
  await refused(/cannot read .*: it is a folder/, folder, '--svg')
  await refused(/is not a record/, join(repository, 'package.json'), '--svg')
  await refused(/no pod that --select app=none fits; it has web-/, file, '--svg', '--select=app=none')
  await refused(
    /no workload that --select=? ?other fits; it has web/,
    file,
    '--svg',
    '--view=rollout',
    '--select=other',
  )
  await refused(/timeline, death, rollout|--view/, file, '--svg', '--view=pie')
  await ends(1, /cannot write .*missing/, file, '--svg', '-o', join(folder, 'missing', 'a.svg'))
})
