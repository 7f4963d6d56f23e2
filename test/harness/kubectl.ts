import { execFile, execFileSync } from 'node:child_process'
import { existsSync, readdirSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Test } from 'tap'
import { newest } from './versions.ts'

export interface Kubectl {
  file: string
  /** `1.33` */
  version: string
}

export interface Answer {
  code: number
  stdout: string
  stderr: string
}

const toolchains = join(import.meta.dirname, '..', 'toolchains')
/** Versions within the supported skew of a server of 1.36, which neither Debian nor an SDK has. */
const builtVersions = ['1.35', '1.36']

/** Why a built version cannot be tested with. */
export const missingBuilt = (version: string): string =>
  `no kubectl ${version} (\`test/toolchains/kubectl.sh ${version}\` builds it with Go)`

/** Folders in which an SDK keeps several versions side by side, beside those on PATH; and those of built ones. */
const knownFolders = [
  '/usr/lib/google-cloud-sdk/bin',
  '/usr/local/lib/kubectl',
  ...builtVersions.map((version) => join(toolchains, `kubectl-${version}`, 'bin')),
]

/** Those that are wanted, and not on this machine: the server's own version; `VERSIONS=all` wants the one before it as well. */
export const missingKubectls = (found: readonly Kubectl[]): string[] =>
  newest(builtVersions).filter((version) => !found.some((one) => one.version === version))

/** Each version of kubectl on this machine once, oldest first. */
export function findKubectls(): Kubectl[] {
  const folders = [...(process.env.PATH ?? '').split(':'), ...knownFolders].filter((folder) => existsSync(folder))
  const files = folders.flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => /^kubectl(\.\d+\.\d+)?$/.test(name))
      .map((name) => realpathSync(join(folder, name))),
  )
  // A dispatcher beside numbered versions only picks one of them.
  const isDispatcher = (file: string): boolean =>
    file.endsWith('/kubectl') && files.some((other) => /\d$/.test(other) && dirname(other) === dirname(file))
  const found = new Map<string, Kubectl>()
  for (const file of new Set(files)) {
    if (isDispatcher(file)) continue
    const version = versionOf(file)
    if (version) found.set(version, { file, version })
  }
  return [...found.values()].sort((a, b) => Number(a.version.split('.')[1]) - Number(b.version.split('.')[1]))
}

function versionOf(file: string): string | undefined {
  const numbered = /\.(\d+\.\d+)$/.exec(file)?.[1]
  if (numbered) return numbered
  try {
    const text = execFileSync(file, ['version', '--client', '--output=json'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return /^v(\d+\.\d+)/.exec(JSON.parse(text).clientVersion.gitVersion)?.[1]
  } catch {
    return undefined // not one we can run
  }
}

/** Runs a kubectl; its cache of discovery is the test's own. */
export const kubectl = (...of: Parameters<typeof startKubectl>): Promise<Answer> => startKubectl(...of).ended

/** Starts a kubectl that goes on, as `logs -f` does. */
export function startKubectl(
  t: Test,
  { file }: Kubectl,
  kubeconfig: string,
  args: string[],
  input?: string,
): { ended: Promise<Answer>; printed(): string } {
  const env = {
    ...process.env,
    KUBECONFIG: kubeconfig,
    HOME: dirname(kubeconfig),
    KUBECACHEDIR: join(dirname(kubeconfig), 'cache'),
  }
  const { promise: ended, resolve } = Promise.withResolvers<Answer>()
  const child = execFile(file, args, { env, timeout: 120_000, maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
    const code = error ? Number((error as { code?: number | string }).code ?? 1) : 0
    if (code) t.comment(`kubectl ${args.join(' ')}: ${code}\n${stderr}`)
    resolve({ code, stdout, stderr })
  })
  let printed = ''
  child.stdout?.on('data', (text: string) => {
    printed += text
  })
  child.stdin?.end(input)
  return { ended, printed: () => printed }
}

/** Runs a kubectl that has to succeed; resolves to what it prints. */
export async function kubectlSays(...of: Parameters<typeof kubectl>): Promise<string> {
  const { code, stdout, stderr } = await kubectl(...of)
  if (code !== 0) throw new Error(`kubectl ${of[3].join(' ')}: ${stderr}`)
  return stdout
}
