import { readdirSync, readFileSync } from 'node:fs'

/** Process ids of those whose command line or environment holds the text; this process and zombies left out. */
export function processesWith(text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid && (read(pid, 'cmdline') + read(pid, 'environ')).includes(text))
}

/** The API server that a guardian has started in the state folder: one at most, or none between two. */
export const serversOf = ({ stateDir }: { stateDir: string }): number[] =>
  processesWith(`--state-dir=${stateDir}`).filter((pid) => read(pid, 'environ').includes('KUBESTAGE_GUARDIAN='))

function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return '' // gone, or not ours to read
  }
}

/** Of processes that are killed together, some end by the end of another. */
export function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
