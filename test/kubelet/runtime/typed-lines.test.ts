/** A user at a terminal, and a program without one. */
import { text } from 'node:stream/consumers'
import t from 'tap'
import { createTypist } from '../../../kubelet/runtime/process/streams/typed-lines.ts'
import { until } from '../../harness/until.ts'
import { configOf, exited, recordOf, sandboxOf, sh, startNode } from './runtime-node.ts'

/** What the program gets, and what the screen shows. */
function typed(...keys: string[]): { input: string; screen: string; told: string[] } {
  const input: Buffer[] = []
  const screen: Buffer[] = []
  const told: string[] = []
  const type = createTypist({
    input: (bytes) => void input.push(bytes),
    echo: (shown) => void screen.push(Buffer.from(shown)),
    interrupt: () => void told.push('interrupt'),
    endOfInput: () => void told.push('end'),
  })
  for (const each of keys) type(Buffer.from(each))
  return { input: Buffer.concat(input).toString(), screen: Buffer.concat(screen).toString(), told }
}

t.test('keys become lines', async (t) => {
  t.same(typed('l', 's', '\r'), { input: 'ls\n', screen: 'ls\r\n', told: [] })
  t.same(typed('one\ntwo\n').input, 'one\ntwo\n', 'pasted')
  t.equal(typed('not yet').input, '')
  t.same(typed('lx\x7fs\r'), { input: 'ls\n', screen: 'lx\b \bs\r\n', told: [] })
  t.equal(typed('\x7f\x7fa\r').input, 'a\n', 'nothing to take back')
  t.equal(typed('aé\bb€\x7f\r').input, 'ab\n', 'a whole character')
  t.equal(typed('wrong\x15ls\r').input, 'ls\n', 'a whole line')
  t.same(typed('wrong\x03ls\r'), { input: 'ls\n', screen: 'wrong^C\r\nls\r\n', told: ['interrupt'] })
  t.same(typed('half\x04'), { input: 'half', screen: 'half', told: [] })
  t.same(typed('ls\r\x04').told, ['end'], 'at the begin of a line')
})

t.test('an interactive shell', async (t) => {
  const node = await startNode(t)
  const { runtime } = node
  const sandbox = await sandboxOf(runtime, 'typed')
  // As a real one's interactive shell, it is not ended by what ends its commands.
  const shell = sh('trap : INT; while read -r line; do eval "$line"; done; exit 5')
  const { id } = await runtime.startContainer(configOf(node, sandbox, shell, { stdin: true, tty: true }))
  const { stdin, stdout } = await runtime.attach(id)
  let screen = ''
  stdout.on('data', (data: Buffer) => {
    screen += data
  })
  const shows = (what: string) => until(() => screen.includes(what), { what: `${JSON.stringify(what)} on its screen` })
  stdin?.write('echo $((1 + 1))\r')
  await shows('echo $((1 + 1))\r\n2\r\n')
  stdin?.write('echo asleep; sleep 1000\r')
  await shows('\r\nasleep\r\n')
  const sleeps = async () => (await runtime.usage()).some(({ processes }) => processes > 1)
  await until(sleeps, { what: 'its command' })
  stdin?.write('\x03')
  stdin?.write('echo awake\r')
  await shows('^C\r\necho awake\r\n')
  await shows('\r\nawake\r\n')
  stdin?.write('\x04')
  await exited(runtime, id)
  t.equal((await recordOf(runtime, id)).exitCode, 5, 'the end of its input')
})

t.test('what ends with its program: the screen', async (t) => {
  const node = await startNode(t)
  const { runtime } = node
  const sandbox = await sandboxOf(runtime, 'shown')
  const { id } = await runtime.startContainer(
    configOf(node, sandbox, sh('read -r _; printf "a\\nb\\n"'), { stdin: true, tty: true }),
  )
  const { stdin, stdout } = await runtime.attach(id)
  const all = text(stdout)
  stdin?.write('\r')
  t.equal(await all, '\r\na\r\nb\r\n')
})
