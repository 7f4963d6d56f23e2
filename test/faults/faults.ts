import { execFileSync, spawnSync } from 'node:child_process'
import {
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { realClock } from '../../shared/clock/real-clock.ts'
import { until } from '../harness/until.ts'
import type { Ledger } from './ledger.ts'
import { isRefusal, type Subject } from './subject.ts'

export interface Attempt {
  subject: Subject
  ledger: Ledger
  random: () => number
}

export interface Fault {
  name: string
  /** The API server ends by itself, and the guardian starts the next. */
  endsServer?: true
  /** The pods' processes are others afterwards. */
  endsPods?: true
  /** Its pods are Failed afterwards, as when a node is shut down: they are created again. */
  failsPods?: true
  /** The API server, the kubelet and the shim are the same processes afterwards. */
  endsNothing?: true
  /** It needs a disk of its own, and a user who may mount. */
  needsDisk?: true
  /** Resolves when the trouble is over; rejects when the cluster did not take it as it should. */
  inflict(attempt: Attempt): Promise<void>
}

const nobody = 65_534
/** A pause long enough for requests to be under way, short enough for many faults. */
const pauseMs = (random: () => number): number => 200 + Math.floor(random() * 2_000)

/** All troubles, as data: what is done, and what it may cost. */
export const faults: readonly Fault[] = [
  ...(['SIGKILL', 'SIGABRT', 'SIGSEGV'] as const).map((signal) => ({
    name: `${signal} to the API server`,
    endsServer: true as const,
    inflict: ({ subject }: Attempt) => endServer(subject, signal),
  })),
  { name: 'SIGKILL to the kubelet', inflict: async ({ subject }) => void subject.signal('kubelet', 'SIGKILL') },
  {
    name: 'SIGKILL to the shim',
    endsPods: true,
    inflict: async ({ subject }) => void subject.signal('shim', 'SIGKILL'),
  },
  ...(['server', 'kubelet', 'shim'] as const).map((name) => ({
    name: `SIGSTOP and SIGCONT to the ${name}`,
    inflict: (attempt: Attempt) => pause(attempt, name),
  })),
  {
    name: 'SIGKILL to the kubelet, then to the API server',
    endsServer: true,
    async inflict({ subject }) {
      subject.signal('kubelet', 'SIGKILL')
      await endServer(subject, 'SIGKILL')
    },
  },
  {
    name: 'SIGKILL to all',
    endsPods: true,
    async inflict({ subject }) {
      await subject.killAll()
      await subject.nothingRuns()
      await subject.start()
    },
  },
  {
    name: 'down and up',
    failsPods: true,
    async inflict({ subject }) {
      if ((await subject.stop()) !== 0) throw new Error('kubestage down failed')
      await subject.nothingRuns()
      await subject.start()
    },
  },
  { name: 'full disk', needsDisk: true, inflict: fullDisk },
  {
    name: 'full disk and SIGKILL to the API server',
    endsServer: true,
    needsDisk: true,
    inflict: (attempt) => fullDisk(attempt, true),
  },
  { name: 'start on a read-only disk', endsPods: true, needsDisk: true, inflict: startReadOnly },
  { name: 'start with a damaged file', failsPods: true, inflict: startDamaged },
  { name: 'a second server on the same file', inflict: secondServer },
  {
    name: 'a second cluster in the same folder',
    inflict: ({ subject }) => refused(subject, /already running with state folder/),
  },
  { name: 'a state folder that another user planted', inflict: plantedFolder },
]

async function endServer(subject: Subject, signal: NodeJS.Signals): Promise<void> {
  const before = subject.signal('server', signal)
  await until(() => subject.pidOf('server') !== before, { what: 'the next API server', timeoutMs: 300_000 })
  await subject.answers()
}

async function pause({ subject, random }: Attempt, name: 'server' | 'kubelet' | 'shim'): Promise<void> {
  const pid = subject.signal(name, 'SIGSTOP')
  await realClock.sleep(pauseMs(random))
  if (pid !== undefined) process.kill(pid, 'SIGCONT')
}

/** Reads go on, writes are refused in words, deletes make room; with room everything goes on. */
async function fullDisk({ subject, ledger }: Attempt, killsServer = false): Promise<void> {
  const filler = join(dirname(subject.stateDir), 'filler')
  const isFull = async (): Promise<boolean> => {
    await subject.useUpRoom(/the disk is full/)
    return subject.writeIsRefused(/the disk is full/)
  }
  execFileSync('sh', ['-c', `cat /dev/zero > ${filler} || true`], { stdio: 'ignore' })
  try {
    await until(isFull, { what: 'a write to be refused', timeoutMs: 300_000 })
    if (killsServer) {
      await endServer(subject, 'SIGKILL')
      await until(isFull, { what: 'a write to be refused by the next API server', timeoutMs: 300_000 })
    }
    const wrong = await ledger.differences(subject.client)
    if (wrong.length > 0) throw new Error(`on the full disk: ${wrong.join('; ')}`)
    await ledger.delete(subject.client, isRefusal)
  } finally {
    rmSync(filler, { force: true })
    await subject.giveRoomBack()
  }
  await until(() => subject.writeWorks(), { what: 'writes to go on', timeoutMs: 300_000 })
}

async function startReadOnly({ subject }: Attempt): Promise<void> {
  await subject.killAll()
  await subject.nothingRuns()
  const disk = dirname(subject.stateDir)
  // The kernel closes files of a killed process after its end, in its own time.
  const readOnly = (): boolean => spawnSync('mount', ['-o', 'remount,ro', disk]).status === 0
  await until(readOnly, { what: 'all files of the disk to be closed' })
  try {
    await refused(subject, /read-only/)
  } finally {
    execFileSync('mount', ['-o', 'remount,rw', disk])
  }
  await subject.start()
}

/** What is damaged is never served, nor changed. */
async function startDamaged({ subject, random }: Attempt): Promise<void> {
  if ((await subject.stop()) !== 0) throw new Error('kubestage down failed')
  const file = subject.storageFile
  const copy = join(subject.folder, 'copy.db')
  copyFileSync(file, copy)
  const bytes = readFileSync(file)
  if (random() < 0.5) truncateSync(file, Math.floor(bytes.length / 2))
  else writeFileSync(file, bytes.fill(0x5a, 0, 4096))
  const damaged = readFileSync(file)
  await refused(subject, /is damaged|is not a valid SQLite database/)
  if (!readFileSync(file).equals(damaged)) throw new Error('a start changed the damaged file')
  copyFileSync(copy, file)
  await subject.start()
}

async function secondServer({ subject }: Attempt): Promise<void> {
  const other = join(subject.folder, 'other')
  await refused(subject, /is in use by another process/, other)
  rmSync(other, { recursive: true, force: true })
}

async function plantedFolder({ subject }: Attempt): Promise<void> {
  if (process.getuid?.() !== 0) return
  const planted = join(subject.folder, 'planted')
  mkdirSync(join(planted, 'pki'), { recursive: true })
  for (const file of [planted, join(planted, 'pki')]) chownSync(file, nobody, nobody)
  await refused(subject, /belongs to user 65534/, planted)
  if (existsSync(join(planted, 'pki', 'ca.key'))) throw new Error('a CA was made in a folder of another user')
  rmSync(planted, { recursive: true })
}

/** `kubestage up` ends at once, with one sentence. */
async function refused(subject: Subject, why: RegExp, stateDir = subject.stateDir): Promise<void> {
  const flags = ['--port=0', `--storage=sqlite:${subject.storageFile}`, `--state-dir=${stateDir}`]
  const { code, output } = await subject.command('up', ...flags)
  if (code === 0 || !why.test(output)) throw new Error(`kubestage up ended with ${code}, not for ${why}:\n${output}`)
  const last = output.trimEnd().split('\n')
  if (!last.every((line) => line.startsWith('kubestage: '))) throw new Error(`not in sentences:\n${output}`)
}
