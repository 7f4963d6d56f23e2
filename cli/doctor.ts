import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { styleText } from 'node:util'
import { apiServerOptions } from '../apiserver/options.ts'
import { possibleIsolation } from '../kubelet/runtime/process/isolation.ts'
import { configOption } from '../shared/config/resolve.ts'
import { command } from './command.ts'
import { outputOption, printJson } from './output.ts'
import { version } from './package.ts'
import { tryProgram } from './supervisor/try-program.ts'

interface Finding {
  name: string
  /** `degraded`: it works, but not all of it; `bad`: a cluster cannot start. */
  state: 'good' | 'degraded' | 'bad'
  found: string
  /** How to get the rest. */
  remedy?: string
}

export default command({
  purpose:
    'Says what this machine can do for Kubestage, and how to get the rest. Exit code 1 when a cluster cannot start.',
  options: { config: configOption, host: apiServerOptions.host, port: apiServerOptions.port, output: outputOption },
  async run({ values: { host, port, output } }) {
    const findings = await Promise.all([
      nodeVersion(),
      perl(),
      isolation(),
      terminal(),
      listening(host, port),
      kubectl(),
      docker(),
    ])
    if (output === 'json') printJson(findings)
    else for (const finding of findings) print(finding)
    return findings.some(({ state }) => state === 'bad') ? 1 : 0
  },
})

async function nodeVersion(): Promise<Finding> {
  const { platform, arch, versions } = process
  const found = `Kubestage ${version} with Node ${versions.node} on ${platform} ${arch}`
  if (platform === 'linux') return { name: 'program', state: 'good', found }
  const remedy = 'pods are plain processes here: for isolation of processes and files use Linux'
  return { name: 'program', state: 'degraded', found, remedy }
}

async function perl(): Promise<Finding> {
  const name = 'perl'
  const found = await tryProgram('perl', ['-e', 'printf "%vd", $^V'])
  if (found) return { name, state: 'good', found }
  const remedy = 'install perl, which starts containers; --kubelet=false needs none, and has no pods'
  return { name, state: 'bad', found: 'there is none on PATH', remedy }
}

async function isolation(): Promise<Finding> {
  const rootDir = mkdtempSync(join(tmpdir(), 'kubestage-doctor-'))
  try {
    const { isolation, files } = await possibleIsolation({ rootDir })
    const found = `isolation ${isolation}, files ${files}`
    if (isolation === 'pod' && files === 'own') return { name: 'containers', state: 'good', found }
    const remedy = 'needs Linux, root and overlayfs: try sudo, or a container that may mount (--privileged)'
    return { name: 'containers', state: 'degraded', found, remedy }
  } finally {
    rmSync(rootDir, { recursive: true, force: true })
  }
}

async function terminal(): Promise<Finding> {
  try {
    await import('@lydell/node-pty')
    return { name: 'terminals', state: 'good', found: 'kubectl exec -it works' }
  } catch {
    const remedy = 'install the optional package @lydell/node-pty'
    return { name: 'terminals', state: 'degraded', found: 'no kubectl exec -it', remedy }
  }
}

function listening(host: string, port: number): Promise<Finding> {
  const name = 'port'
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', ({ code }: NodeJS.ErrnoException) => {
      const found = `${host}:${port} cannot be used (${code})`
      resolve({ name, state: 'bad', found, remedy: 'choose another with --port; 0 takes a free one' })
    })
    server.listen(port, host, () =>
      server.close(() => resolve({ name, state: 'good', found: `${host}:${port} is free` })),
    )
  })
}

async function kubectl(): Promise<Finding> {
  const answer = await tryProgram('kubectl', ['version', '--client', '--output=json'])
  const found = /"gitVersion":\s*"([^"]+)"/.exec(answer ?? '')?.[1]
  if (found) return { name: 'kubectl', state: 'good', found }
  const remedy = 'install kubectl 1.27 or newer, or use any other client of the Kubernetes API'
  return { name: 'kubectl', state: 'degraded', found: 'there is none on PATH', remedy }
}

async function docker(): Promise<Finding> {
  const answer = await tryProgram('docker', ['version', '--format', '{{.Server.Version}}'])
  if (answer) return { name: 'docker', state: 'good', found: answer.trim() }
  return { name: 'docker', state: 'degraded', found: 'no daemon answers; only docker-compose needs one' }
}

function print({ name, state, found, remedy }: Finding): void {
  const colours = { good: 'green', degraded: 'yellow', bad: 'red' } as const
  const mark = styleText(colours[state], state.padEnd(9), { stream: process.stdout })
  process.stdout.write(`${name.padEnd(11)} ${mark} ${found}\n${remedy ? `${' '.repeat(22)}${remedy}\n` : ''}`)
}
