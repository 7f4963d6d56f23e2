import { writeSync } from 'node:fs'
import { checkDescriptor } from '../shared/concurrency/check-descriptor.ts'
import { endWith } from '../shared/concurrency/end-with.ts'

/** The process that started this server and starts it again (cluster/supervisor/guardian.pl). */
export interface Guardian {
  pid: number
  /** Standard input for shims: a pipe that closes when the guardian ends. */
  lifeLine: number
  /** Counts the servers before this one; `ending` says how the last of them ended: `SIGABRT`, `exit-code-1`. */
  restarts: number
  ending: string
  /**
   * Says whether the guardian starts the server again. Without a word it does not for the first server, and does for
   * later ones.
   */
  tell(word: 'keep' | 'end'): void
  /**
   * Files with the process ids of kubelets, which it asks to end their pods, within `graceMs`, when it starts no server
   * again.
   */
  hold(pidFiles: readonly string[], graceMs: number): void
  /** Further API servers: while one of them lives, it starts the server again however often that ends. */
  others(pids: readonly number[]): void
}

let ours: Guardian | undefined

/** Returns the guardian; undefined for a server without one, whose pods end with it. */
export const guardian = (): Guardian | undefined => ours

/** LIFE WORDS RESTARTS ENDING PID; the first two are open descriptors. */
const greeting = /^(\d+) (\d+) (\d+) (\S+) (\d+)$/

/**
 * Takes what the guardian says to us out of the environment, so that children do not get it. Throws a ConfigError for
 * what no guardian has said.
 */
export function meetGuardian(env: NodeJS.ProcessEnv): void {
  const { KUBESTAGE_GUARDIAN: said } = env
  delete env.KUBESTAGE_GUARDIAN
  if (said === undefined) return
  const [, life, words, restarts, ending = '-', pid] = greeting.exec(said) ?? []
  for (const fd of [life, words]) checkDescriptor('KUBESTAGE_GUARDIAN', fd)
  const say = (line: string): void => void writeSync(Number(words), `${line}\n`)
  ours = {
    pid: Number(pid),
    lifeLine: Number(life),
    restarts: Number(restarts),
    ending,
    tell: say,
    hold: (pidFiles, graceMs) => say(['hold', Math.ceil(graceMs / 1000), ...pidFiles].join('\t')),
    others: (pids) => say(['others', ...pids].join('\t')),
  }
  endWith(ours.lifeLine)
}
