import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createImages } from '../../../kubelet/runtime/images/images.ts'
import { createProcessRuntime, possibleIsolation, startShim } from '../../../kubelet/runtime/process/index.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'

/** A kubelet as far as its runtime goes, to be run by a test as an ordinary user. Prints its findings as JSON. */
const rootDir = mkdtempSync(path.join(tmpdir(), 'kubestage-'))
const capabilities = await possibleIsolation({ rootDir })
const { command, args } = startShim({ rootDir })
const shim = spawn(command, args, { stdio: ['pipe', 'ignore', 'inherit'] })
const runtime = await createProcessRuntime({
  rootDir,
  clock: realClock,
  images: createImages({ commands: {}, paths: {} }),
  nodeIP: '127.0.0.1',
  supervised: true,
  capabilities,
  warn: () => {},
})
const pod = { podUid: 'p', namespace: 'default', name: 'p', hostname: 'p', hostNetwork: false }
const sandbox = await runtime.startSandbox({ ...pod, shareProcessNamespace: false, annotations: {} })
const logPath = path.join(rootDir, 'log')
const { id } = await runtime.startContainer({
  sandboxId: sandbox.id,
  name: 'main',
  attempt: 0,
  image: 'busybox',
  imageId: 'busybox',
  command: ['sh', '-c', `trap 'echo TERM; exit 4' TERM; echo $$ $(id -u); while :; do sleep 0.02; done`],
  env: {},
  path: [],
  logPath,
  stdin: false,
  tty: false,
  annotations: {},
})
const beside = await runtime.execSync(id, {
  command: ['sh', '-c', 'cat /proc/1/comm; hostname; readlink /proc/self/ns/ipc /proc/1/ns/ipc; exit 6'],
})
const late = await runtime.execSync(id, { command: ['sleep', '1000'], timeoutMs: 200 })
await runtime.stopContainer(id, { signal: 'TERM', gracePeriodMs: 10_000 })
const { containers } = await runtime.list()
await runtime.close()
shim.stdin?.end()
shim.on('exit', () => {
  const log = readFileSync(logPath, 'utf8')
  process.stdout.write(JSON.stringify({ capabilities, beside, late, exitCode: containers[0]?.exitCode, log }))
})
