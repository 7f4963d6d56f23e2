import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createImages } from '../../../kubelet/runtime/images/images.ts'
import { createProcessRuntime, possibleIsolation, startShim } from '../../../kubelet/runtime/process/index.ts'
import { whyNoNetworks } from '../../../kubelet/runtime/process/network/door.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'
import { busyboxRoot } from '../../harness/busybox-root.ts'
import { until } from '../../harness/until.ts'

/** A container with the files of an image, to be run by a test as an ordinary user. Prints its findings as JSON. */
const ownNetworks = process.argv.includes('networks')
const why = ownNetworks ? await whyNoNetworks() : undefined
if (why) {
  process.stdout.write(JSON.stringify({ why }))
  process.exit()
}
const rootDir = mkdtempSync(path.join(tmpdir(), 'kubestage-'))
const folder = path.join(rootDir, 'image')
busyboxRoot(folder)
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
  ownNetworks,
  warn: () => {},
})
if (ownNetworks) await runtime.usePodAddresses('10.244.0.0/28')
const pod = { podUid: 'p', namespace: 'default', name: 'p', hostname: 'p', hostNetwork: false }
const sandbox = await runtime.startSandbox({ ...pod, shareProcessNamespace: false, annotations: {} })
const logPath = path.join(rootDir, 'log')
const { id } = await runtime.startContainer({
  sandboxId: sandbox.id,
  name: 'main',
  attempt: 0,
  image: 'small',
  imageId: 'small',
  command: [
    'sh',
    '-c',
    'grep -E "^(CapEff|NoNewPrivs|Seccomp):" /proc/self/status; cat /etc/os-release; id; echo $HOME; touch /new; ls -ln /new | { read _ _ u g _; echo $u $g; }; sleep 1000',
  ],
  env: {},
  path: [],
  logPath,
  stdin: false,
  tty: false,
  root: { folder, volumes: [], user: 'web' },
  rights: { capabilities: ['CHOWN', 'DAC_OVERRIDE'], noNewPrivileges: true, privileged: false },
  seccomp: { name: 'RuntimeDefault' },
  annotations: {},
})
const logged = (): string => (existsSync(logPath) ? readFileSync(logPath, 'utf8') : '').replace(/^\S+ \S+ \S /gm, '')
await until(() => /^\d+ \d+$/m.test(logged()), { what: 'the container to have printed all' })
const beside = await runtime.execSync(id, { command: ['sh', '-c', 'cat /etc/os-release; hostname; ls /new; exit 6'] })
await runtime.stopContainer(id, { signal: 'TERM', gracePeriodMs: 100 })
await runtime.close()
shim.stdin?.end()
shim.on('exit', () => process.stdout.write(JSON.stringify({ capabilities, beside, log: logged() })))
