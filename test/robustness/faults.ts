import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { realClock } from '../../shared/clock/real-clock.ts'
import { oneOf } from '../faults/random.ts'
import type { Server } from './server.ts'
import { type Engine, leaderOf, type Member, type Subject } from './subject.ts'

export interface Fault {
  name: string
  /** Default: all engines. */
  engine?: Engine
  /** A process is killed. */
  isKill?: boolean
  isPossible?(subject: Subject): boolean
  /** Resolves when it is over, and what it took is back. */
  inflict(subject: Subject, random: () => number): Promise<void>
}

/** Forward or back: longer than tokens, Leases and waits last. */
const mostMovedMs = 7_200_000

/** Long enough for timeouts within the server to begin, short enough for many of them in a run. */
const breakMs = (random: () => number): number => 200 + random() * 800

async function killed(server: Server, random: () => number): Promise<void> {
  await server.kill()
  await realClock.sleep(random() * 200)
  await server.start()
}

const several = ({ members }: Subject): boolean => members.length > 1

/** What is in memory ends with the server that holds it. */
const mortal = ({ storage, servers }: Subject): readonly Server[] => (storage === 'memory' ? servers.slice(1) : servers)

export const faults: readonly Fault[] = [
  {
    name: 'kill a server',
    isKill: true,
    isPossible: (subject) => mortal(subject).length > 0,
    inflict: (subject, random) => killed(oneOf(random, mortal(subject)), random),
  },
  {
    name: 'kill all servers at once',
    isKill: true,
    isPossible: (subject) => mortal(subject).length > 0,
    inflict: async (subject, random) =>
      void (await Promise.all(mortal(subject).map((server) => killed(server, random)))),
  },
  {
    name: 'kill etcd',
    engine: 'etcd',
    isKill: true,
    async inflict({ members }, random) {
      const member = oneOf(random, members)
      await member.stop()
      await realClock.sleep(random() * 500)
      await member.start()
    },
  },
  {
    name: 'kill the leader of etcd',
    engine: 'etcd',
    isKill: true,
    isPossible: several,
    async inflict(subject) {
      const leader = await leaderOf(subject)
      await leader?.stop()
      await leader?.start()
    },
  },
  {
    name: 'halt a server',
    async inflict({ servers }, random) {
      const server = oneOf(random, servers)
      server.signal('SIGSTOP')
      await realClock.sleep(breakMs(random))
      server.signal('SIGCONT')
    },
  },
  {
    name: 'halt etcd',
    engine: 'etcd',
    async inflict({ members }, random) {
      const member = oneOf(random, members)
      member.kill('SIGSTOP')
      await realClock.sleep(breakMs(random))
      member.kill('SIGCONT')
    },
  },
  {
    name: 'cut a server off from etcd',
    engine: 'etcd',
    async inflict({ servers }, random) {
      const { links } = oneOf(random, servers)
      for (const link of links) link.cut()
      await realClock.sleep(breakMs(random))
      for (const link of links) link.heal()
    },
  },
  {
    name: 'delay what etcd says to a server',
    engine: 'etcd',
    async inflict({ servers }, random) {
      const { links } = oneOf(random, servers)
      for (const link of links) link.slow(20 + random() * 300)
      await realClock.sleep(breakMs(random))
      for (const link of links) link.heal()
    },
  },
  {
    name: 'move the clock of a server',
    async inflict({ servers }, random) {
      const server = oneOf(random, servers)
      server.moveClock((random() - 0.5) * 2 * mostMovedMs)
      await realClock.sleep(breakMs(random))
      server.moveClock(0)
    },
  },
  {
    name: 'use up the quota of etcd',
    engine: 'etcd',
    async inflict({ members }, random) {
      const alarms = await Promise.all(members.map(quotaAlarm))
      await realClock.sleep(breakMs(random))
      for (const alarm of alarms) await alarm.clear()
    },
  },
  {
    name: 'fill the disk of etcd',
    engine: 'etcd',
    isKill: true,
    isPossible: ({ members }) => members.some(({ disk }) => disk !== undefined),
    async inflict({ members }, random) {
      const member = oneOf(
        random,
        members.filter(({ disk }) => disk !== undefined),
      )
      const full = join(member.disk ?? '', 'full')
      fillDisk(full)
      await realClock.sleep(breakMs(random))
      rmSync(full)
      // It may have ended by itself, as etcd does.
      await member.stop()
      await member.start()
    },
  },
  {
    name: 'fill the disk',
    engine: 'sqlite',
    isPossible: ({ disk }) => disk !== undefined,
    async inflict({ disk = '' }, random) {
      fillDisk(join(disk, 'full'))
      await realClock.sleep(breakMs(random))
      rmSync(join(disk, 'full'))
    },
  },
  {
    name: 'fill the disk and kill the server',
    engine: 'sqlite',
    isKill: true,
    isPossible: ({ disk }) => disk !== undefined,
    async inflict({ disk = '', servers }, random) {
      fillDisk(join(disk, 'full'))
      await realClock.sleep(random() * 300)
      await servers[0]!.kill()
      rmSync(join(disk, 'full'))
      await servers[0]!.start()
    },
  },
]

/** What etcd does to itself when its quota is used up: writes are refused until the alarm is cleared. */
async function quotaAlarm({ url }: Member): Promise<{ clear(): Promise<void> }> {
  const ask = async (path: string, body: object): Promise<{ header: { member_id: string } }> => {
    const answer = await fetch(`${url}/v3/maintenance/${path}`, { method: 'POST', body: JSON.stringify(body) })
    if (!answer.ok) throw new Error(`etcd answered ${answer.status}: ${await answer.text()}`)
    return (await answer.json()) as { header: { member_id: string } }
  }
  const { header } = await ask('status', {})
  const alarm = { memberID: header.member_id, alarm: 'NOSPACE' }
  await ask('alarm', { action: 'ACTIVATE', ...alarm })
  return { clear: async () => void (await ask('alarm', { action: 'DEACTIVATE', ...alarm })) }
}

export const faultsOf = (subject: Subject): Fault[] =>
  faults.filter(
    ({ engine = subject.storage, isPossible }) => engine === subject.storage && (isPossible?.(subject) ?? true),
  )

function fillDisk(file: string): void {
  const descriptor = openSync(file, 'w')
  const block = Buffer.alloc(65_536)
  try {
    for (;;) writeSync(descriptor, block)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  } finally {
    closeSync(descriptor)
  }
}
