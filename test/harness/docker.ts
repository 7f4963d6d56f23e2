import { execFile, spawn } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Test } from 'tap'
import { realClock } from '../../shared/clock/real-clock.ts'
import { copyDebian } from './debian-root.ts'

/** A Docker daemon to try the compose file with, and how to ask it. */
export interface Docker {
  run(command: string, args: string[], options?: RunOptions): Promise<string>
}
interface RunOptions {
  cwd?: string
  env?: Record<string, string>
}

const STARTS_WITHIN_MS = 120_000
const MINUTES_MS = 60_000

/** A daemon, and nothing of it that outlives us, whatever ends us. It leaves its own network namespace mounted. */
const untilInputEnds = `
exec 3<&0
dockerd "$@" 3<&- &
daemon=$!
(cat <&3 >/dev/null; kill $daemon) &
wait $daemon
code=$?
umount "$0/exec/netns/default" 2>/dev/null
rm -rf "$0"
exit $code`

/** The machine's daemon where one answers, else one of our own that ends with the test; or why there can be none. */
export async function startDocker(t: Test): Promise<Docker | { missing: string } | { cannot: string }> {
  for (const program of ['docker', 'docker-compose'])
    if (!(await succeeds(program, ['--version']))) return { missing: program }
  if (await succeeds('docker', ['info'])) return { run: runWith({}) }
  if (!(await succeeds('dockerd', ['--version']))) return { missing: 'dockerd' }
  const root = await mkdtemp(join(tmpdir(), 'kubestage-docker-'))
  const host = `unix://${root}/socket`
  const flags = ['--data-root', `${root}/data`, '--exec-root', `${root}/exec`, '--pidfile', `${root}/pid`, '-H', host]
  const daemon = spawn('sh', ['-c', untilInputEnds, root, ...flags], {
    stdio: ['pipe', 'ignore', 'pipe'],
    detached: true,
  })
  let said = ''
  daemon.stderr.on('data', (text) => {
    said = `${said}${text}`.slice(-2_000)
  })
  const ended = new Promise<void>((resolve) => daemon.once('exit', () => resolve()))
  t.teardown(async () => {
    daemon.stdin.end()
    await ended
  })
  const env = { DOCKER_HOST: host }
  for (const deadlineMs = realClock.monotonic() + STARTS_WITHIN_MS; ; await realClock.sleep(100)) {
    if (await succeeds('docker', ['info'], env)) return { run: runWith(env) }
    if (daemon.exitCode !== null || realClock.monotonic() > deadlineMs)
      return { cannot: `no Docker daemon can run here: ${said.trim().split('\n').at(-1)}` }
  }
}

/** The image that the Dockerfile begins with, made of this machine's Debian packages and the Node that runs the tests where it is missing. */
export async function ensureNodeImage(docker: Docker, t: Pick<Test, 'teardown'>, image: string): Promise<void> {
  await ensureImage(docker, t, image, ['ca-certificates', 'libatomic1', 'libstdc++6'], async (root) => {
    const npm = await docker.run('bash', ['-c', 'readlink -f "$(command -v npm)"'])
    for (const folder of ['bin', 'lib/node_modules']) mkdirSync(join(root, 'usr/local', folder), { recursive: true })
    await docker.run('cp', [process.execPath, join(root, 'usr/local/bin/node')])
    await docker.run('cp', ['-r', dirname(dirname(npm.trim())), join(root, 'usr/local/lib/node_modules/npm')])
    symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(root, 'usr/local/bin/npm'))
  })
}

/** What the image of scripts/docker/ha.Dockerfile has. */
export const haPackages = ['etcd-server', 'haproxy']

/** That image, made of this machine's packages. */
export async function ensureHaImage(docker: Docker, t: Pick<Test, 'teardown'>): Promise<void> {
  await ensureImage(docker, t, 'kubestage-ha', haPackages, async (root) => {
    const folder = join(root, 'var/lib/etcd')
    mkdirSync(folder, { recursive: true })
    chownSync(folder, 1000, 1000)
  })
}

/** Unless there is one of that name: the packages of this machine, and what `add` puts beside their files. */
async function ensureImage(
  { run }: Docker,
  t: Pick<Test, 'teardown'>,
  image: string,
  packages: readonly string[],
  add: (root: string) => Promise<void>,
): Promise<void> {
  if (await run('docker', ['image', 'inspect', image]).then(Boolean, () => false)) return
  const root = await mkdtemp(join(tmpdir(), 'kubestage-image-'))
  t.teardown(() => rmSync(root, { recursive: true, force: true }))
  copyDebian(root, packages)
  await add(root)
  await run('bash', ['-c', `tar -C "$0" -c . | docker import - "$1"`, root, image])
}

/** Certificates that this machine's administrator trusts beside the usual ones: a build needs them, too. */
export function localCertificates(): string {
  const folder = '/usr/local/share/ca-certificates'
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.crt')) : []
  return files.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n')
}

function runWith(base: Record<string, string>): Docker['run'] {
  return (command, args, { cwd, env } = {}) =>
    new Promise((resolve, reject) => {
      const options = { cwd, env: { ...process.env, ...base, ...env }, maxBuffer: 64 << 20, timeout: 10 * MINUTES_MS }
      execFile(command, args, options, (error, stdout, stderr) => {
        if (error) reject(new Error(`${command} ${args.join(' ')}: ${stdout.slice(-3_000)}${stderr.slice(-3_000)}`))
        else resolve(stdout)
      })
    })
}

const succeeds = (command: string, args: string[], env: Record<string, string> = {}): Promise<boolean> =>
  new Promise((resolve) => {
    execFile(command, args, { env: { ...process.env, ...env }, timeout: MINUTES_MS }, (error) => resolve(!error))
  })
