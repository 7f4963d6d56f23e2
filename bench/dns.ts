/**
 * What an answer to a question of DNS costs the kubelet: the real server and its rules of names, on a socket of this
 * machine. Questions come from another process, as many at once as a busy node's pods ask.
 */
import { fork } from 'node:child_process'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { encode, type RecordType } from 'dns-packet'
import { openDns } from '../kubelet/dns/open-dns.ts'
import type { Service } from '../shared/api/types.ts'
import type { EndpointSlice } from '../shared/api/workloads/workloads.ts'
import { realClock } from '../shared/clock/real-clock.ts'

const SERVICES = 100
const AT_ONCE = 64
const COUNT = 40_000
const WARM_UP = 5_000

export interface DnsFigures {
  perSecond: number
  cpuMicroseconds: number
}

const [port] = process.argv.slice(2)
if (port !== undefined) await ask(Number(port))
else await serve()

/** Asks as programs in pods do: a name of one part is tried with the search path, by both kinds of addresses. */
async function ask(to: number): Promise<void> {
  const socket = createSocket('udp4')
  const types: RecordType[] = ['A', 'AAAA']
  const questions = Array.from({ length: SERVICES }, (_, index) =>
    types.flatMap((type) =>
      [`web-${index}.bench.svc.cluster.local`, `web-${index}.bench.svc.cluster.local.svc.cluster.local`].map((name) =>
        encode({ type: 'query', id: 0, flags: 0x100, questions: [{ name, type }] }),
      ),
    ),
  ).flat()
  let sent = 0
  let answered = 0
  const next = (): void => {
    const question = questions[sent % questions.length] as Buffer
    question.writeUInt16BE(sent & 0xffff)
    sent += 1
    socket.send(question, to, '127.0.0.1')
  }
  let startedMs = 0
  const done = Promise.withResolvers<void>()
  socket.on('message', () => {
    answered += 1
    if (answered === WARM_UP) {
      startedMs = realClock.monotonic()
      process.send?.('warm')
    }
    if (answered === COUNT) done.resolve()
    if (sent < COUNT) next()
  })
  for (let i = 0; i < AT_ONCE; i++) next()
  await done.promise
  process.send?.({ perSecond: ((COUNT - WARM_UP) / (realClock.monotonic() - startedMs)) * 1000 })
  socket.close()
}

async function serve(): Promise<void> {
  const services = new Map<string, Service>()
  for (let i = 0; i < SERVICES; i++)
    services.set(`web-${i}`, {
      metadata: { name: `web-${i}`, namespace: 'bench' },
      spec: { clusterIP: `10.96.1.${i}`, clusterIPs: [`10.96.1.${i}`], ports: [{ port: 80 }] },
    })
  const none: EndpointSlice[] = []
  const known = {
    service: (_: string, name: string) => services.get(name),
    slices: () => none,
    slicesWith: () => none,
    withClusterIP: () => undefined,
    hasNamespace: () => true,
    onChange() {},
  }
  const bound = Promise.withResolvers<Socket>()
  const network = {
    async bind(_: unknown, onSocket: (socket: Socket) => void) {
      const socket = createSocket('udp4').bind(0, '127.0.0.1')
      await once(socket, 'listening')
      onSocket(socket)
      bound.resolve(socket)
      return { close: () => void socket.close() }
    },
    listen: async () => ({ close() {} }),
  }
  const served = await openDns({ network, clock: realClock, host: '127.0.0.1', services: known, warn() {} })
  const client = fork(import.meta.filename, [String((await bound.promise).address().port)])
  await once(client, 'message')
  const before = process.cpuUsage()
  const [{ perSecond }] = (await once(client, 'message')) as [{ perSecond: number }]
  const { user, system } = process.cpuUsage(before)
  served.close()
  process.send?.({ perSecond, cpuMicroseconds: (user + system) / (COUNT - WARM_UP) } satisfies DnsFigures)
}
