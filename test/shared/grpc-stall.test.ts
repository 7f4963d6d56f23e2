import { Worker } from 'node:worker_threads'
import t from 'tap'
import type { Clock } from '../../shared/clock/clock.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { GrpcChannel } from '../../shared/grpc/channel.ts'

const answering = `
const { createServer } = require('node:http2')
const { parentPort } = require('node:worker_threads')
const server = createServer()
server.on('stream', (stream) => stream.respond({ ':status': 200, 'content-type': 'application/grpc' }))
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))
`
/** Pings and waits for their answers are ten times as quick. */
const factor = 10
const betweenPingsMs = 5_000

t.test('a connection outlives a stall of this process that is longer than the wait for a ping', async (t) => {
  const server = new Worker(answering, { eval: true })
  t.teardown(() => server.terminate())
  const { promise: listening, resolve: told } = Promise.withResolvers<number>()
  server.once('message', told)
  let pings = 0
  const clock: Clock = {
    ...realClock,
    setTimer: (ms, run, options) => {
      // The wait for an answer begins: the ping leaves in this turn, and then nothing is read for twice as long.
      if (pings === 1 && ms !== betweenPingsMs) setImmediate(stall)
      if (ms === betweenPingsMs) pings++
      return realClock.setTimer(ms / factor, run, { ...options, background: false })
    },
  }
  let isOver = false
  const stall = (): void => {
    if (!isOver) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600)
    isOver = true
  }
  const channel = new GrpcChannel({ url: `http://127.0.0.1:${await listening}`, clock })
  t.teardown(() => channel.close())
  let ended: string | undefined
  const onEnd = (error?: Error): void => {
    ended = String(error?.message)
  }
  const stream = await channel.stream('/a.Service/Watch', { onMessage: () => {}, onEnd })
  t.teardown(() => stream.close())
  while (pings < 2 && ended === undefined) await realClock.sleep(5)
  t.equal(ended, undefined)
})
