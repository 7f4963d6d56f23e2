import { type ChildProcess, spawn } from 'node:child_process'
import type { Credentials } from '../../kubelet/runtime/container-runtime.ts'
import { realClock } from '../../shared/clock/real-clock.ts'

const timeoutMs = 10_000
const mostBytes = 64 * 1024
/** The helpers of Docker say so of a registry for which they have no password; it is no failure. */
const notFound = 'credentials not found in native keychain'

/**
 * Asks a program `docker-credential-NAME`, as Docker does, for the password of a registry. Resolves to undefined if it
 * has none. Throws an Error that says why it did not answer; its processes have ended then.
 */
export async function askCredentialHelper(name: string, server: string): Promise<Credentials | undefined> {
  const program = `docker-credential-${name}`
  if (!/^[\w.-]+$/.test(name)) throw new Error(`${JSON.stringify(name)} names no program docker-credential-…`)
  // A group of its own: a program that hangs may have started others.
  const helper = spawn(program, ['get'], { detached: true, stdio: ['pipe', 'pipe', 'ignore'] })
  const output = Promise.withResolvers<string>()
  const fail = (why: string): void => output.reject(new Error(`${program} ${why}`))
  const timer = realClock.setTimer(timeoutMs, () => fail(`has not answered within ${timeoutMs / 1000} s`))
  const chunks: Buffer[] = []
  helper.stdout.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    if (chunks.reduce((sum, { length }) => sum + length, 0) > mostBytes)
      fail(`answers with more than ${mostBytes} bytes`)
  })
  helper.on('error', ({ code, message }: NodeJS.ErrnoException) =>
    fail(code === 'ENOENT' ? 'is not on the PATH' : `could not be started: ${message}`),
  )
  // What it has started, and left behind, may hold its output open.
  helper.on('exit', () => endGroup(helper))
  helper.on('close', (exitCode) => {
    const text = Buffer.concat(chunks).toString()
    if (exitCode === 0 || text.includes(notFound)) output.resolve(text)
    else fail(`ended with ${exitCode ?? 'a signal'}${firstLine(text)}`)
  })
  // It may end before it has read the name.
  helper.stdin.on('error', () => {})
  helper.stdin.end(server)
  try {
    const text = await output.promise
    return text.includes(notFound) ? undefined : credentialsIn(text, program)
  } finally {
    timer.cancel()
    endGroup(helper)
  }
}

function endGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // all of them have ended
  }
}

function firstLine(text: string): string {
  const [line = ''] = text.trim().split('\n')
  return line && `: ${line.slice(0, 200)}`
}

/** Reads the answer; a user `<token>` stands for an identity token. */
function credentialsIn(text: string, program: string): Credentials {
  try {
    const { Username: username, Secret: secret } = JSON.parse(text) as Record<string, unknown>
    if (typeof username === 'string' && typeof secret === 'string' && username && secret)
      return username === '<token>'
        ? { username: '', password: '', identityToken: secret }
        : { username, password: secret }
  } catch {
    // told below, without the answer, which may hold a password
  }
  throw new Error(`${program} gives no user and secret`)
}
