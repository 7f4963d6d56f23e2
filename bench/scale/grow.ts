import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { withKubestage } from '../cluster.ts'
import type { Etcd } from '../compare/etcd-server.ts'
import { options } from '../options.ts'
import { scaleText } from './report.ts'
import { measureScale } from './scale.ts'

/** Fills a cluster of simulated nodes with pods, step by step, and returns what each step took. */
export async function growCluster(pods: number): Promise<string> {
  const nodes = Number(options['simulated-nodes'])
  const storage = await startStorage()
  try {
    return await withKubestage([...storage.flags, '--simulated-nodes', String(nodes)], async (server) =>
      scaleText(await measureScale({ pods, nodes, minutes: Number(options.minutes), server, etcd: storage.etcd })),
    )
  } finally {
    await storage.stop()
  }
}

/** The storage flags of a server, and etcd when they name it: one for each cluster that is started. */
async function startStorage(): Promise<{ flags: string[]; etcd: Etcd | undefined; stop(): Promise<void> }> {
  if (options.storage !== 'etcd') return { flags: [], etcd: undefined, stop: async () => {} }
  const folder = mkdtempSync(join(tmpdir(), 'kubestage-etcd-'))
  const { startEtcd } = await import('../compare/etcd-server.ts')
  const etcd = await startEtcd({ program: options.real ? join(options.real, 'etcd') : 'etcd', folder })
  const stop = async (): Promise<void> => {
    await etcd.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  return { flags: ['--storage', `etcd:${etcd.url}`], etcd, stop }
}
