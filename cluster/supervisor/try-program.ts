import { execFile } from 'node:child_process'

const timeoutMs = 5_000

/** What a program prints; undefined when there is none, it fails, or it takes too long. */
export function tryProgram(name: string, args: readonly string[]): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(name, args, { timeout: timeoutMs }, (error, stdout) => resolve(error ? undefined : stdout))
  })
}
