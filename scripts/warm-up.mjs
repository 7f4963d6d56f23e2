// Run by npm at the end of `npm ci` in a checkout: starts a cluster once and stops it, so that Node keeps what it has compiled,
// and the user's first start takes half the time. If that fails nothing is lost, and nothing is printed.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const timeoutMs = 20_000
const program = join(import.meta.dirname, '..', 'bin', 'kubestage.mjs')

if (['ci', 'install'].includes(process.env.npm_command)) await warmUp()

async function warmUp() {
  const stateDir = mkdtempSync(join(tmpdir(), 'kubestage-'))
  const cluster = spawn(process.execPath, [program, 'up', '--port=0', `--state-dir=${stateDir}`], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const late = setTimeout(() => cluster.kill(), timeoutMs)
  cluster.stdout.on('data', (text) => String(text).includes('is ready') && cluster.kill('SIGINT'))
  await new Promise((resolve) => cluster.on('close', resolve).on('error', resolve))
  clearTimeout(late)
  rmSync(stateDir, { recursive: true, force: true })
}
