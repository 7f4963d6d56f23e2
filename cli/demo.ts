import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { realClock } from '../shared/clock/real-clock.ts'
import { configOption, resolveOptions } from '../shared/config/resolve.ts'
import { startCluster } from './cluster.ts'
import { clusterOptions } from './cluster-options.ts'
import { command } from './command.ts'
import { createNarrator } from './demo/narrator.ts'
import { tellStory } from './demo/story.ts'

export default command({
  purpose: 'Runs a pod on a cluster of its own, deletes it for a reason, and shows what its hooks are told.',
  options: { config: configOption },
  async run() {
    const stateDir = mkdtempSync(join(tmpdir(), 'kubestage-demo-'))
    const narrator = createNarrator(realClock)
    const { values } = await resolveOptions(clusterOptions, { args: [], env: {} })
    const settings = { ...values, stateDir, port: 0 }
    try {
      const cluster = await startCluster({ settings, clock: realClock, onTrouble: narrator.aside })
      try {
        return (await tellStory(cluster, narrator)) ? 0 : 1
      } finally {
        await cluster.stop()
      }
    } finally {
      rmSync(stateDir, { recursive: true, force: true })
    }
  },
})
