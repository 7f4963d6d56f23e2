import { execFile } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import type {
  ContainerConfig,
  ContainerRecord,
  ExecResult,
  ImageRoot,
  RuntimeCapabilities,
  WantedUser,
} from '../../../kubelet/runtime/container-runtime.ts'
import { possibleIsolation } from '../../../kubelet/runtime/process/index.ts'
import { aloneLaunch } from '../../../kubelet/runtime/process/launch/launch.ts'
import { viewFlags, viewSteps } from '../../../kubelet/runtime/process/view/container-view.ts'
import type { Step } from '../../../kubelet/runtime/process/view/steps.ts'
import { busyboxRoot, noBusybox } from '../../harness/busybox-root.ts'
import { scratchFolder } from '../../harness/scratch.ts'
import { skipOrFail } from '../../harness/skip.ts'
import { until } from '../../harness/until.ts'
import { configOf, exited, type Node, recordOf, sandboxOf, sh, startNode, texts } from './runtime-node.ts'

const folder = scratchFolder(t, 'image-root')
const hasImage = busyboxRoot(path.join(folder, 'image'))
const image: ImageRoot = { folder: path.join(folder, 'image'), volumes: [] }

async function nodeFor(t: Test, options: { layerBytes?: number } = {}): Promise<Node | undefined> {
  const possible = await possibleIsolation({ rootDir: t.testdir() })
  if (!hasImage) return void skipOrFail(t, noBusybox)
  if (possible.isolation !== 'pod') return void skipOrFail(t, 'this machine gives no namespaces')
  return startNode(t, possible, options)
}

/** What a container printed, line by line, and its end. */
async function run(
  node: Node,
  command: string[],
  more: Partial<ContainerConfig> = {},
): Promise<{ lines: string[]; record: ContainerRecord }> {
  const sandbox = await sandboxOf(node.runtime, `p${Math.random().toString(36).slice(2)}`)
  const config = configOf(node, sandbox, command, { root: image, ...more })
  const { id } = await node.runtime.startContainer(config)
  await exited(node.runtime, id)
  return { lines: texts(config.logPath), record: await recordOf(node.runtime, id) }
}

const isRoot = process.getuid?.() === 0

t.test("a container sees the files of its image, the kernel's, and nothing of the machine", async (t) => {
  const node = await nodeFor(t)
  if (!node) return
  const before = readdirSync(image.folder, { recursive: true }).sort()
  const script = `cat /etc/os-release; pwd; echo $HOME; ls /; ls /dev | wc -l; readlink /proc/self/exe
    echo changed >/etc/os-release; touch /new; cat /etc/os-release; ls ${process.cwd()}`
  const { lines, record } = await run(node, sh(script), { workingDir: '/made/here' })
  t.same(lines.slice(0, 3), ['ID=small', '/made/here', '/root'])
  const root = lines.slice(3, lines.indexOf('sys') + 1)
  t.match(root, ['bin', 'dev', 'etc', 'made', 'proc', 'run', 'srv', 'sys'])
  t.ok(lines.includes('/bin/busybox'))
  t.ok(lines.includes('changed'))
  t.match(lines.at(-1), /No such file or directory/, 'of the machine there is nothing')
  t.equal(record.exitCode, 1)
  t.same(readdirSync(image.folder, { recursive: true }).sort(), before, 'the image is as it was')
})

t.test('the image names the user, its groups and its home; the pod may name another', async (t) => {
  if (!isRoot) return skipOrFail(t, 'needs root')
  const node = await nodeFor(t)
  if (!node) return
  const who = async (user: string, more: Partial<ContainerConfig> = {}) =>
    (await run(node, sh('id; echo $HOME'), { root: { ...image, user }, ...more })).lines
  t.same(await who(''), ['uid=0(root) gid=0(root) groups=0(root)', '/root'])
  t.same(await who('web'), ['uid=4711(web) gid=4712(web) groups=4712(web),4713(extra)', '/srv'])
  t.same(await who('4711'), ['uid=4711(web) gid=4712(web) groups=4712(web),4713(extra)', '/srv'])
  t.same(await who('12:extra'), ['uid=12 gid=4713(extra) groups=4713(extra)', '/'])
  t.same(await who('web:0'), ['uid=4711(web) gid=0(root) groups=0(root),4713(extra)', '/srv'])
  const strict: WantedUser = { uid: 4711, groups: [9], onlyThese: true }
  t.same(await who('web', { user: { uid: 4711, groups: [9] } }), [
    'uid=4711(web) gid=4712(web) groups=9,4712(web),4713(extra)',
    '/srv',
  ])
  t.same(await who('web', { user: strict }), ['uid=4711(web) gid=4712(web) groups=9,4712(web)', '/srv'], 'Strict')
  t.same(await who('web', { user: { uid: 7, gid: 8, groups: [9] } }), ['uid=7 gid=8 groups=8,9', '/'])
  await t.rejects(who('nobody-here'), {
    message: /unable to find user nobody-here: no matching entries in passwd file/,
  })
})

t.test("a program is looked for in the image, and what is wrong is said in a container runtime's words", async (t) => {
  const node = await nodeFor(t)
  if (!node) return
  const { lines } = await run(node, ['id', '-u'])
  t.same(lines, ['0'], 'found by PATH, through an absolute link')
  await t.rejects(run(node, ['node']), { message: /exec: "node": executable file not found in \$PATH/ })
  await t.rejects(run(node, ['/etc/os-release']), { message: /exec: "\/etc\/os-release": permission denied/ })
  await t.rejects(run(node, []), { message: /no command specified/ })
  await t.rejects(run(node, sh('true'), { workingDir: '/etc/passwd' }), { message: /not a directory/ })
})

t.test('commands beside it see the same', async (t) => {
  const node = await nodeFor(t)
  if (!node) return
  const sandbox = await sandboxOf(node.runtime, 'beside')
  const config = configOf(node, sandbox, sh('touch /here; echo up; exec sleep 1000'), { root: image })
  const { id } = await node.runtime.startContainer(config)
  await until(() => texts(config.logPath).includes('up'), { what: 'the container to be up' })
  const found = await node.runtime.execSync(id, { command: ['ls', '/here', '/srv/data'], timeoutMs: 20_000 })
  t.match(found, { outcome: 'exited', exitCode: 0, output: /\/here[\s\S]*shipped/ })
  const failed = await node.runtime.execSync(id, { command: ['node'] })
  t.match(failed, { outcome: 'failed', message: /exec: "node": executable file not found in \$PATH/ })
  const again = await node.again()
  const later = await again.execSync(id, { command: sh('cat /etc/os-release; id -u') })
  t.match(later, { output: 'ID=small\n0\n' }, 'also from the next kubelet')
  await again.stopContainer(id, { signal: 'TERM', gracePeriodMs: 100 })
})

t.test("volumes are mounted where the container's own links lead, never on the machine", async (t) => {
  const node = await nodeFor(t)
  if (!node) return
  const volume = path.join(folder, 'volume')
  const canary = path.join(folder, 'canary')
  for (const made of [volume, canary]) mkdirSync(made, { recursive: true })
  writeFileSync(path.join(volume, 'file'), 'of the volume\n')
  symlinkSync(canary, path.join(volume, 'out'))
  const mounts = [
    { containerPath: '/var/run/deep', hostPath: volume, readonly: true },
    { containerPath: '/v', hostPath: volume, readonly: false },
  ]
  const { lines } = await run(node, sh('cat /run/deep/file; touch /run/deep/x; ls /v'), { mounts })
  t.equal(lines[0], 'of the volume')
  t.match(lines[1], /Read-only file system/)
  t.same(lines.slice(2).sort(), ['file', 'out'])
  const through = [...mounts, { containerPath: '/v/out/further', hostPath: volume, readonly: false }]
  await t.rejects(run(node, sh('true'), { mounts: through }), {
    message: /directory \/v\/out\/further: no such file or directory/,
  })
  t.same(readdirSync(canary), [], "the machine's folder that a volume's link names is as it was")
})

t.test('a file is mounted at the top of the image, where it has none', async (t) => {
  const node = await nodeFor(t)
  if (!node) return
  const file = path.join(mkdtempSync(path.join(folder, 'file-')), 'file')
  writeFileSync(file, 'mounted')
  const mounts = [{ containerPath: '/settings', hostPath: file, readonly: true }]
  t.same((await run(node, sh('cat /settings'), { mounts })).lines, ['mounted'])
})

t.test("a root that is read-only leaves the image's volumes", async (t) => {
  const node = await nodeFor(t)
  if (!node) return
  const root = { ...image, volumes: ['/srv/data', '/fresh'] }
  const script = 'touch /etc/x; touch /srv/data/y /fresh/z && ls /srv/data'
  const { lines } = await run(node, sh(script), { root, readonlyRoot: true })
  t.match(lines[0], /\/etc\/x: Read-only file system/)
  t.same(lines.slice(1), ['shipped', 'y'])
})

t.test('what a container writes has the size of its layer', async (t) => {
  const node = await nodeFor(t, { layerBytes: 2 ** 20 })
  if (!node) return
  const { lines } = await run(node, sh('cat /dev/zero >/large; ls -s /large | wc -l'))
  t.match(lines[0], /No space left on device/)
})

t.test('where the kernel refuses an overlay, the image is copied', async (t) => {
  if (!hasImage) return skipOrFail(t, noBusybox)
  if (!isRoot) return skipOrFail(t, 'needs root')
  const scratch = path.join(folder, 'copy')
  mkdirSync(scratch)
  const view = {
    files: 'own' as const,
    image,
    scratch,
    hostMounts: [],
    mounts: [],
    hidden: { folders: [], files: [] },
    processes: 'own' as const,
    workingDir: '/',
    machineSettings: false,
  }
  const steps = viewSteps(view).map((step) =>
    step[0] === 'layer' ? (['layer', image.folder, 'root', 'lowerdir=/nothing/there'] satisfies Step) : step,
  )
  const { file, args } = aloneLaunch([
    ['namespaces', String(viewFlags(view))],
    ['fork'],
    ...steps,
    ['environment', 'PATH=/bin'],
    ['run', 'sh', '-c', 'cat /etc/os-release; touch /etc/x && ls /etc'],
  ])
  const out = await new Promise((resolve) => execFile(file, args, (_, stdout) => resolve(stdout)))
  t.equal(out, 'ID=small\ngroup\nos-release\npasswd\nx\n')
  t.notOk(existsSync(path.join(image.folder, 'etc/x')))
})

interface Findings {
  why?: string
  capabilities: RuntimeCapabilities
  log: string
  beside: ExecResult
}

/** What `ordinary-image.ts` finds as nobody; undefined where it cannot be tried. */
async function asNobody(t: Test, ...args: string[]): Promise<Findings | undefined> {
  if (!isRoot) return void skipOrFail(t, 'the tests above have shown it')
  if (!hasImage) return void skipOrFail(t, noBusybox)
  const own = mkdtempSync(path.join(tmpdir(), 'kubestage-'))
  t.teardown(() => rmSync(own, { recursive: true, force: true }))
  chmodSync(own, 0o777)
  const program = path.join(import.meta.dirname, 'ordinary-image.ts')
  const nobody = { uid: 65_534, gid: 65_534, cwd: '/', env: { ...process.env, TMPDIR: own, HOME: own } }
  const { error, stdout } = await new Promise<{ error: Error | null; stdout: string }>((resolve) =>
    execFile(process.execPath, [program, ...args], nobody, (error, stdout) => resolve({ error, stdout })),
  )
  if (error && /EACCES|permission denied/i.test(error.message))
    return void skipOrFail(t, 'nobody may read our files here')
  t.error(error)
  const found = JSON.parse(stdout) as Findings
  if (found.why) return void skipOrFail(t, found.why)
  if (found.capabilities.isolation !== 'pod')
    return void skipOrFail(t, 'this machine gives namespaces of users to root only')
  return found
}

t.test('an ordinary user runs images as well, as their root', async (t) => {
  const found = await asNobody(t)
  if (!found) return
  t.match(found.log, /^ID=small\nuid=0\(root\) gid=0\(root\)[\s\S]*\/srv\n0 0\n/m, 'root of its own files')
  t.match(
    found.log,
    /^CapEff:\t0000000000000403\nNoNewPrivs:\t1\nSeccomp:\t2$/m,
    'with no more capabilities there than it may have',
  )
  t.match(found.beside, { outcome: 'exited', exitCode: 6, output: 'ID=small\np\n/new\n' })
})

t.test('also where pods have networks', async (t) => {
  const found = await asNobody(t, 'networks')
  if (!found) return
  t.match(found.log, /^ID=small\nuid=0\(root\) gid=0\(root\)[\s\S]*\/srv\n0 0\n/m)
  t.match(found.beside, { outcome: 'exited', exitCode: 6, output: 'ID=small\np\n/new\n' })
})
