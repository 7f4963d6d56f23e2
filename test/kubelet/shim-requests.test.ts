/** Lines at the shim's end of the pipe from the kubelet: what is damaged starts nothing, and the shim goes on. */
import { spawn } from 'node:child_process'
import { closeSync, constants, existsSync, openSync, readFileSync, writeSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { encodeRequest } from '../../kubelet/runtime/process/shim/shim-words.ts'
import { until } from '../harness/until.ts'

const program = join(import.meta.dirname, '../../kubelet/runtime/process/shim/shim.pl')

t.test('requests that are cut, damaged or endless', async (t) => {
  const root = join(t.testdir(), 'runtime')
  const shim = spawn('perl', [program, root, 'supervised'], { stdio: ['pipe', 'ignore', 'inherit'] })
  t.teardown(() => shim.stdin.end())
  await until(() => existsSync(join(root, 'shim.pid')), { what: 'the shim' })
  const requests = openSync(join(root, 'requests'), constants.O_WRONLY)
  t.teardown(() => closeSync(requests))
  const events = new Socket({ fd: openSync(join(root, 'events'), constants.O_RDONLY | constants.O_NONBLOCK) })
  t.teardown(() => events.destroy())
  let heard = ''
  events.on('data', (data) => (heard += data))
  const greeted = async (who: string) => {
    writeSync(requests, `\n${encodeRequest(['hello', who, String(process.pid)])}`)
    await until(() => heard.includes(`known\t${who}\n`), { what: `the answer to ${who}` })
  }

  await t.test('a request that is cut anywhere runs nothing', async (t) => {
    const line = encodeRequest([
      'run',
      'cut',
      'cut',
      '0',
      '1',
      '0',
      '0',
      '-',
      '-',
      'run',
      '4',
      'touch',
      join(root, 'ran'),
      '.',
      'x',
    ])
    for (let cut = 0; cut < line.length - 1; cut++) writeSync(requests, `${line.slice(0, cut)}\n`)
    await greeted('first')
    t.notMatch(heard, /\tcut\t/)
  })

  await t.test('ids, numbers and verbs that are none', async (t) => {
    const steps = ['run', '1', 'true']
    for (const words of [
      ['run', '../../up', 'c', '0', '1', '0', '0', '-', '-', ...steps],
      ['run', 'a\nb', 'c', '0', '1', '0', '0', '-', '-', ...steps],
      ['run', '', 'c', '0', '1', '0', '0', '-', '-', ...steps],
      ['run', 'flags', 'id', '0', '1', 'x', '0', '-', '-', ...steps],
      ['run', 'namespace', 'id', '0', '1', '256', '0', '-', '-', ...steps],
      ['run', 'beside', 'id', '0', '1', '0', '-1', '-', '-', ...steps],
      ['run', 'steps', 'id', '0', '1', '0', '0', '-', '-'],
      ['run', 'short'],
      ['end', 'now'],
      ['stop'],
      ['forget', '../up'],
      ['network', '../up'],
      ['size', 'none', '80', '24'],
      ['size', 'none', 'wide'],
      ['input', '\0'],
    ])
      writeSync(requests, encodeRequest(words))
    await until(() => heard.includes('failed\tshort'), { what: 'the last refusal' })
    t.notMatch(heard, /started/)
    const refused = [...heard.matchAll(/^failed\t(\w+)\t0\t(.*)$/gm)].map(([, id, why]) => `${id}: ${why}`)
    const why = 'error during container init: the request is damaged'
    t.same(
      refused,
      ['flags', 'namespace', 'beside', 'steps', 'short'].map((id) => `${id}: ${why}`),
      'each that has an id is answered',
    )
    await greeted('second')
  })

  await t.test('a line without end takes no memory, and is no request when it ends', async (t) => {
    const piece = Buffer.alloc(65_536, 'x')
    for (let sent = 0; sent < 64 * 1024 * 1024; sent += piece.length) writeSync(requests, piece)
    writeSync(requests, '\tend\t.')
    await greeted('third')
    const status = readFileSync(`/proc/${readFileSync(join(root, 'shim.pid'), 'utf8').trim()}/status`, 'utf8')
    t.ok(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) < 60 * 1024, status.match(/VmHWM.*/)?.[0] ?? '')
  })

  await t.test('a request that is too long is answered when it ends', async (t) => {
    const longest = 8 * 1024 * 1024
    const words = ['run', 'long', 'long', '0', '1', '0', '0', '-', '-', 'run', '2', 'true']
    const line = Buffer.from(encodeRequest([...words, 'x'.repeat(longest + 1_000_000)]))
    for (let sent = 0; sent < line.length; ) sent += writeSync(requests, line, sent, line.length - sent)
    await until(() => heard.includes('failed\tlong\t'), { what: 'its refusal' })
    t.match(heard, `failed\tlong\t0\terror during container init: the request has more than ${longest} bytes\n`)
    await greeted('fourth')
  })

  await t.test('what nobody wants any more is killed, also before its program has begun', async (t) => {
    const run = (id: string) =>
      encodeRequest(['run', id, id, '0', '1', '0', '0', '-', '-', 'run', '2', 'sleep', '4711'])
    writeSync(requests, run('runs'))
    await until(() => heard.includes('started\truns\t'), { what: 'its start' })
    writeSync(requests, `${encodeRequest(['forget', 'runs'])}${run('late')}${encodeRequest(['forget', 'late'])}`)
    const pid = Number(/started\truns\t\d+\t(\d+)/.exec(heard)?.[1])
    await until(() => !existsSync(`/proc/${pid}`), { what: 'its end' })
    await greeted('fifth')
    t.notMatch(heard, /started\tlate|failed\tlate|exited\t(runs|late)/)
  })

  await t.test('what is whole is run', async (t) => {
    writeSync(requests, encodeRequest(['run', 'whole', 'whole', '0', '1', '0', '0', '-', '-', 'run', '1', 'true']))
    await until(() => heard.includes('exited\twhole\t'), { what: 'its end' })
    t.match(heard, /started\twhole\t/)
  })
})
