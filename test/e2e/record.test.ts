import { createReadStream, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { namespaces, pods } from '../../shared/client/resources.ts'
import type { RecordedChange, RecordLine } from '../../shared/record/format.ts'
import { readRecord } from '../../shared/record/reader.ts'
import { startCommand, startTestCluster } from '../harness/cluster.ts'
import { httpsExchange } from '../harness/https-exchange.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { until } from '../harness/until.ts'

async function linesOf(file: string): Promise<RecordLine[]> {
  const lines: RecordLine[] = []
  if (existsSync(file) && readFileSync(file).length > 0)
    for await (const line of readRecord(createReadStream(file))) lines.push(line)
  return lines
}
const has = (lines: readonly RecordLine[], type: string, name?: string): boolean =>
  lines.some(
    (line) => line.type === type && (name === undefined || (line as RecordedChange).object.metadata.name === name),
  )

t.test('kubestage record', async (t) => {
  const folder = scratchFolder(t, 'record')
  const file = join(folder, 'a.record')
  const storage = `--storage=sqlite:${join(folder, 'state.db')}`
  const cluster = await startTestCluster(t, '--nodes=0', storage, '--ui')
  const place = `--state-dir=${cluster.stateDir}`
  const record = (...args: string[]) => startCommand(t, ['record', ...args, place])
  const pod = (name: string) => ({ metadata: { name }, spec: { containers: [{ name: 'c', image: 'x' }] } })
  const create = (name: string) => cluster.client.create(pods, pod(name), { namespace: 'default' })
  const comes = (type: string, name?: string) =>
    until(async () => has(await linesOf(file), type, name), { what: `${type} ${name ?? ''} in the record` })

  await t.test('writes until Ctrl-C, and goes on when the server starts again', async (t) => {
    const command = record(file)
    await command.printed(`in ${file}; Ctrl-C ends it.`)
    await comes('SYNCED')
    await create('one')
    await comes('ADDED', 'one')
    const { pid } = JSON.parse(readFileSync(join(cluster.stateDir, 'running.json'), 'utf8'))
    process.kill(pid, 'SIGKILL')
    await command.printed('answers again')
    await comes('GAP')
    await until(() => cluster.client.list(namespaces, {}).catch(() => undefined), { what: 'the next API server' })
    await create('two')
    await comes('ADDED', 'two')
    command.child.kill('SIGINT')
    t.equal(await command.ended, 0)
    t.match(command.stdout(), /^\d+ lines, \d+\.\d MB, 1 gaps in .*a\.record\n$/)
    const lines = await linesOf(file)
    t.equal(lines.filter(({ type }) => type === 'HEADER').length, 1)
    t.match(lines[0], { writer: /^kubestage \d/, title: /^https:/ })
    t.equal(command.stdout().split(' ')[0], String(lines.length))
  })

  await t.test('refuses to overwrite, and appends to a record alone', async (t) => {
    const ended = async (...args: string[]): Promise<string> => {
      const command = record(...args)
      t.equal(await command.ended, 1)
      return command.output()
    }
    t.match(await ended(file), /already exists; use --append to continue it, or name another file/)
    const other = join(folder, 'other.yaml')
    writeFileSync(other, 'kind: Pod\n')
    t.match(await ended(other, '--append'), /other\.yaml is not a record of Kubestage/)
    t.equal(readFileSync(other, 'utf8'), 'kind: Pod\n')
    t.match(await ended(join(folder, 'none'), '--append'), /leave out --append/)
    const before = (await linesOf(file)).length
    const command = record(file, '--append', '--for=1s')
    t.equal(await command.ended, 0)
    const added = (await linesOf(file)).slice(before)
    t.equal(added[0]?.type, 'GAP')
    t.ok(has(added, 'ADDED', 'two'))
    t.notOk(has(added, 'HEADER'))
  })

  await t.test('is shown by kubestage ui FILE', async (t) => {
    const command = startCommand(t, ['ui', file])
    await command.printed('Ctrl-C ends the page')
    const link = command.stdout().trim()
    const login = await fetch(link, { redirect: 'manual' })
    t.equal(login.status, 303)
    const cookie = login.headers.getSetCookie()[0]!.split(';')[0]!
    const at = (path: string) => fetch(new URL(path, link), { headers: { cookie } })
    t.match(await (await at('/kubestage/ui/')).text(), /<script type="module">/)
    const stream = await at('/kubestage/ui/stream')
    t.equal(stream.headers.get('x-kubestage-source'), 'file')
    t.equal(await stream.text(), readFileSync(file, 'utf8'))
    t.equal((await fetch(new URL('/kubestage/ui/stream', link))).status, 401)
    t.match(await (await fetch(link)).text(), /The link was used already/)
    command.child.kill('SIGINT')
    t.equal(await command.ended, 0)
    const wrong = startCommand(t, ['ui', join(folder, 'other.yaml')])
    t.equal(await wrong.ended, 2)
    t.match(wrong.output(), /is not a record of Kubestage/)
  })

  await t.test('and a running cluster by kubestage ui', async (t) => {
    t.match(
      cluster.process.output(),
      /works once, within two minutes:\n {2}https:.*\/kubestage\/ui\/login\?once=/,
      'up --ui',
    )
    const command = startCommand(t, ['ui', place])
    t.equal(await command.ended, 0)
    const { cert: _, key: __, server, ca } = cluster.access
    const link = new URL(command.stdout().trim())
    t.equal(link.origin, server)
    const ask = (path: string, cookie = '') =>
      httpsExchange({ ca, host: link.hostname, port: link.port, path, headers: { cookie }, agent: false })
    const login = await ask(link.pathname + link.search)
    t.equal(login.status, 303)
    const cookie = String(login.headers['set-cookie']).split(';')[0]!
    t.match(String((await ask('/kubestage/ui/', cookie)).bytes), /<script type="module">/)
  })
})
