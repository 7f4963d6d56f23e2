import { execFile } from 'node:child_process'

const timeoutMs = 5_000

/** Resolves to the output of a program; to undefined if the program does not exist, fails, or takes too long. */
export function tryProgram(name: string, args: readonly string[]): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(name, args, { timeout: timeoutMs }, (error, stdout) => resolve(error ? undefined : stdout))
  })
}
