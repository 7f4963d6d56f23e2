import { createImages } from '../../../kubelet/runtime/images/images.ts'
import { createProcessRuntime } from '../../../kubelet/runtime/process/index.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'

/** A kubelet as far as its runtime goes, to be killed by a test: runs a hook in the only container there is, and waits for it. */
const [rootDir = '', script = ''] = process.argv.slice(2)
const runtime = await createProcessRuntime({
  rootDir,
  clock: realClock,
  images: createImages({ commands: {}, paths: {} }),
  nodeIP: '127.0.0.1',
  supervised: true,
  capabilities: { isolation: 'none', files: 'host' },
  warn: () => {},
})
const [container] = (await runtime.list()).containers
await runtime.execSync(container?.id ?? '', { command: ['sh', '-c', script] })
