import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'

export interface RunOptions {
  cwd?: string
  env?: Record<string, string>
  timeoutMs?: number
  input?: string
}

/** Runs a program to its end. Resolves to undefined when there is no such program. */
export async function run(
  file: string,
  args: string[],
  { cwd, env, timeoutMs, input }: RunOptions = {},
): Promise<{ code: number; output: string } | undefined> {
  const child = spawn(file, args, { cwd, env: { ...process.env, ...env }, timeout: timeoutMs, stdio: 'pipe' })
  child.stdin.on('error', () => {}).end(input)
  const ended = new Promise<number | undefined>((resolve) => {
    child.on('error', () => resolve(undefined))
    child.on('close', (code) => resolve(code ?? -1))
  })
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  return code === undefined ? undefined : { code, output: stdout + stderr }
}
