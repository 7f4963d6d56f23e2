/** Programs on terminals: what is typed, what is shown, and who is told. */
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import type { ContainerRuntime, ProcessStreams } from '../../../kubelet/runtime/container-runtime.ts'
import { until } from '../../harness/until.ts'
import { configOf, exited, type Node, recordOf, sandboxOf, sh, startNode, texts } from './runtime-node.ts'

/** Follows what a terminal shows. */
class Screen {
  readonly streams: ProcessStreams
  shown = ''

  constructor(streams: ProcessStreams) {
    this.streams = streams
    streams.stdout.on('data', (data: Buffer) => {
      this.shown += data
    })
  }

  type(keys: string): void {
    this.streams.stdin?.write(keys)
  }

  async shows(what: string | RegExp): Promise<void> {
    const isShown = () => (typeof what === 'string' ? this.shown.includes(what) : what.test(this.shown))
    await until(isShown, { what: String(what) }).catch((error: Error) => {
      throw new Error(`${error.message}; shown: ${JSON.stringify(this.shown)}`)
    })
  }
}

const attach = async (runtime: ContainerRuntime, id: string) => new Screen(await runtime.attach(id))

async function startOn(node: Node, name: string, command: string[], more: object = {}): Promise<string> {
  const sandbox = await sandboxOf(node.runtime, name)
  const options = { stdin: true, tty: true, ...more }
  return (await node.runtime.startContainer(configOf(node, sandbox, command, options))).id
}

const shell = ['bash', '--norc', '--noediting', '-i']

async function shellOnTerminal(t: Test, node: Node): Promise<void> {
  const id = await startOn(node, 'shell', shell, { env: { PS1: '> ' } })
  const screen = await attach(node.runtime, id)
  await screen.shows('> ')
  screen.type('tty; echo $TERM; ps -o pid=,pgid=,sid= -p $$\r')
  await screen.shows(/\r\n\/dev\/pts\/\d+\r\nxterm\r\n *(\d+) +\1 +\1\r\n> /)
  t.notMatch(screen.shown, /no job control|cannot set terminal/)
  screen.type('echo wrogn\x7f\x7fng\r')
  await screen.shows('\r\nwrong\r\n> ')
  // What a command has printed comes from the foreground group, which alone gets signals of the terminal.
  screen.type(`sh -c 'echo asl""eep; exec sleep 1000'; echo $?\r`)
  await screen.shows('\r\nasleep\r\n')
  screen.type('\x03')
  await screen.shows(/\^C[\r\n]+> /)
  screen.type('echo code $?\r')
  await screen.shows('\r\ncode 130\r\n> ')
  screen.type(`sh -c 'echo ag""ain; exec sleep 1001'\r`)
  await screen.shows('\r\nagain\r\n')
  screen.type('\x1a')
  await screen.shows(/Stopped .*sleep 1001'\s+> /)
  screen.type('kill %1; echo gone\r')
  await screen.shows(/\r\ngone\r\n(?:.*\r\n)*> /)
  screen.type("trap 'told=1' WINCH; stty size; echo b''egins; until [ $told ]; do read -t 0.05; done; stty size\r")
  // Until then stty may be the foreground group, which alone is told.
  await screen.shows('begins\r\n')
  screen.streams.resize?.({ width: 101, height: 37 })
  await screen.shows('\r\n37 101\r\n')
  screen.type('exit 7\r')
  await exited(node.runtime, id)
  t.equal((await recordOf(node.runtime, id)).exitCode, 7)
}

t.test('a shell has job control, line editing and a size', async (t) => {
  const options = { skip: process.getuid?.() !== 0 && 'only root has isolated files' }
  await t.test('plain', async (t) => shellOnTerminal(t, await startNode(t)))
  await t.test('on an unknown system', async (t) =>
    shellOnTerminal(t, await startNode(t, undefined, { unknownSystem: true })),
  )
  await t.test('isolated', options, async (t) =>
    shellOnTerminal(t, await startNode(t, { isolation: 'pod', files: 'own' })),
  )
})

t.test('a program outlives its clients and its kubelet; each client sees all', async (t) => {
  const node = await startNode(t)
  const id = await startOn(node, 'lives', shell, { env: { PS1: '> ' }, stdinOnce: true })
  const [one, two] = [await attach(node.runtime, id), await attach(node.runtime, id)]
  one.type('echo o""ne\r')
  await two.shows('one\r\n')
  one.streams.stdin?.destroy()
  one.streams.stdout.destroy()
  two.type('echo t""wo\r')
  await two.shows('two\r\n')
  const runtime = await node.again()
  const three = await attach(runtime, id)
  three.type('echo th""ree\r')
  await three.shows('three\r\n')
  t.equal((await recordOf(runtime, id)).state, 'running')
  three.type('\x04')
  await exited(runtime, id)
  t.equal((await recordOf(runtime, id)).exitCode, 0, 'the end of its input, as typed')
})

t.test('its log has the lines as the terminal showed them; nothing printed at the end is lost', async (t) => {
  const node = await startNode(t)
  const id = await startOn(node, 'log', sh('seq 20000; printf "a\\nb"'), { stdin: false })
  await exited(node.runtime, id)
  const lines = texts(configOf(node, await sandboxOf(node.runtime, 'log'), []).logPath)
  t.equal(lines.length, 20_002)
  t.same(lines.slice(-3), ['20000\r', 'a\r', 'b'])
})

t.test('commands on terminals', async (t) => {
  const node = await startNode(t)
  const { runtime } = node
  const sandbox = await sandboxOf(runtime, 'commands')
  const { id } = await runtime.startContainer(configOf(node, sandbox, ['sleep', '1000']))
  const size = { width: 91, height: 33 }
  const sized = await runtime.exec(id, { command: sh('stty size; exit 4'), stdin: true, tty: true, size })
  t.equal(await text(sized.stdout), '33 91\r\n', 'the first size is there from the beginning')
  t.equal(await sized.exitCode, 4)

  const left = new Screen(await runtime.exec(id, { command: shell, stdin: true, tty: true }))
  left.type(`sh -c 'echo beh""ind; exec sleep 1002' & sh -c 'echo bef""ore; exec sleep 1003'\r`)
  await left.shows('behind\r\n')
  await left.shows('before\r\n')
  left.streams.stdin?.destroy()
  left.streams.stdout.destroy()
  t.equal(await left.streams.exitCode, 129, 'a client that leaves hangs it up')
  await until(async () => (await runtime.usage()).every(({ processes }) => processes === 1), { what: 'their end' })
})

t.test('a slow client holds the program up, and loses nothing', async (t) => {
  const node = await startNode(t)
  const id = await startOn(node, 'slow', sh('read -r _; seq 100000'))
  const { stdin, stdout } = await node.runtime.attach(id)
  stdin?.write('\r')
  await until(() => stdout.readableLength >= stdout.readableHighWaterMark, { what: 'enough to read' })
  t.equal((await recordOf(node.runtime, id)).state, 'running')
  const all = await text(stdout)
  t.equal(all, `\r\n${Array.from({ length: 100_000 }, (_, i) => `${i + 1}\r\n`).join('')}`)
  await exited(node.runtime, id)
})
