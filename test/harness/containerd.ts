import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { archiveOf } from './archive-of.ts'
import { busyboxRoot } from './busybox-root.ts'
import { savedEntries, tarOf } from './image-archives.ts'
import { until } from './until.ts'

/** The folder into which `.ci/run` builds containerd. */
export const builtContainerd = new URL('../toolchains/bin/', import.meta.url).pathname
const plugins = '/usr/lib/cni'
const pause = 'kubestage.test/pause:1'
export const busyboxImage = 'docker.io/library/busybox:1'

/** Says why no containerd can be started here; undefined if one can. */
export function whyNoContainerd(bin = builtContainerd): string | undefined {
  if (process.getuid?.() !== 0) return 'containerd needs root'
  if (!existsSync(join(bin, 'containerd')))
    return `needs containerd in ${bin}; .ci/run builds one into test/toolchains/bin`
  if (!existsSync('/usr/sbin/runc')) return 'needs runc: Debian has the package runc'
  if (!existsSync(join(plugins, 'bridge'))) return 'needs CNI plug-ins: Debian has containernetworking-plugins'
  return existsSync('/bin/busybox') ? undefined : 'needs a static busybox: Debian has busybox-static'
}

export interface Containerd {
  /** `unix:///path`. */
  endpoint: string
  folder: string
  ctr(...args: string[]): Promise<string>
  /** Ends it with SIGKILL; its containers live on. */
  kill(): Promise<void>
  start(): Promise<void>
}

/** Starts a containerd of the test's own, with an image and a network for pods. All of it goes when the test is over. */
export async function startContainerd(t: Pick<Test, 'teardown'>, bin = builtContainerd): Promise<Containerd> {
  const folder = mkdtempSync(join(tmpdir(), 'kubestage-ctrd-'))
  const socket = join(folder, 'c.sock')
  writeConfiguration(folder, socket)
  let child: ChildProcess | undefined
  const start = async (): Promise<void> => {
    const log = openSync(join(folder, 'log'), 'a')
    const env = { ...process.env, PATH: `${bin}:${process.env.PATH}` }
    child = spawn(join(bin, 'containerd'), ['-c', join(folder, 'config.toml')], { stdio: ['ignore', log, log], env })
    closeSync(log)
    await until(() => ctr('version').then(Boolean, () => false), { what: 'containerd to answer' })
  }
  const ctr = async (...args: string[]): Promise<string> => {
    const { stdout } = await promisify(execFile)(join(bin, 'ctr'), ['-a', socket, '-n', 'k8s.io', ...args])
    return stdout
  }
  const kill = async (): Promise<void> => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  t.teardown(async () => {
    await removeContainers(ctr).catch(() => {})
    await kill()
    await endLeftovers(folder, socket)
    rmSync(folder, { recursive: true, force: true })
  })
  await start()
  await ctr('images', 'import', await imageFile(folder))
  return { endpoint: `unix://${socket}`, folder, ctr, kill, start }
}

function writeConfiguration(folder: string, socket: string): void {
  const number = process.pid % 200
  const bridge = `ksct${process.pid % 10_000}`
  mkdirSync(join(folder, 'cni'))
  const ranges = [[{ subnet: `10.${201 + (process.pid % 50)}.${number}.0/24` }]]
  const ipam = { type: 'host-local', dataDir: join(folder, 'cni-state'), ranges, routes: [{ dst: '0.0.0.0/0' }] }
  const plugin = { type: 'bridge', bridge, isGateway: true, ipMasq: false, hairpinMode: true, ipam }
  const portmap = { type: 'portmap', capabilities: { portMappings: true } }
  writeFileSync(
    join(folder, 'cni/10-test.conflist'),
    JSON.stringify({ cniVersion: '1.0.0', name: 'test', plugins: [plugin, portmap] }),
  )
  writeFileSync(join(folder, 'bridge'), bridge)
  writeFileSync(
    join(folder, 'config.toml'),
    `version = 3
root = '${folder}/root'
state = '${folder}/state'
[grpc]
  address = '${socket}'
[ttrpc]
  address = '${socket}.ttrpc'
[plugins.'io.containerd.internal.v1.opt']
  path = '${folder}/opt'
[plugins.'io.containerd.nri.v1.nri']
  disable = true
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = '${pause}'
[plugins.'io.containerd.cri.v1.runtime']
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ['${plugins}']
    conf_dir = '${folder}/cni'
  [plugins.'io.containerd.cri.v1.runtime'.containerd]
    default_runtime_name = 'runc'
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
      runtime_type = 'io.containerd.runc.v2'
      [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
        BinaryName = '/usr/sbin/runc'
        SystemdCgroup = false
`,
  )
}

/** One image under two names: as a pause container it sleeps. */
async function imageFile(folder: string): Promise<string> {
  const root = join(folder, 'busybox')
  busyboxRoot(root)
  const config = { Entrypoint: ['sleep', '100000'], Env: ['PATH=/bin', 'GREETING=hello'] }
  const entries = savedEntries({ name: busyboxImage, layers: [await archiveOf(root)], config })
  const manifest = entries.find(({ name }) => name === 'manifest.json')
  const [image] = JSON.parse(String(manifest?.content))
  if (manifest) manifest.content = JSON.stringify([{ ...image, RepoTags: [busyboxImage, pause] }])
  const file = join(folder, 'busybox.tar')
  writeFileSync(file, await tarOf(entries))
  return file
}

async function removeContainers(ctr: Containerd['ctr']): Promise<void> {
  const lines = (text: string): string[] => text.split('\n').filter(Boolean)
  for (const id of lines(await ctr('tasks', 'ls', '-q'))) await ctr('tasks', 'rm', '-f', id).catch(() => {})
  for (const id of lines(await ctr('containers', 'ls', '-q'))) await ctr('containers', 'rm', id).catch(() => {})
}

/** Shims, mounts, network namespaces and the bridge outlive containerd. */
async function endLeftovers(folder: string, socket: string): Promise<void> {
  const run = promisify(execFile)
  const { stdout } = await run('ps', ['-eo', 'pid=,args='])
  for (const line of stdout.split('\n')) {
    if (!line.includes('containerd-shim-runc-v2') || !line.includes(socket)) continue
    process.kill(Number(line.trim().split(' ')[0]), 'SIGKILL')
  }
  const mounts = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
  for (const mount of mounts.filter((place) => place.startsWith(`${folder}/`)).reverse())
    await run('umount', ['-l', mount]).catch(() => {})
  await run('ip', ['link', 'del', readFileSync(join(folder, 'bridge'), 'utf8')]).catch(() => {})
}
