import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './compare/etcd-server.ts'
import { options } from './options.ts'
import { bareApi, type Server, startKubestage } from './processes.ts'

/** The flags of a cluster whose only node takes all pods that a part of the bench creates. */
export const nodeFlags = (isolation: string): string[] => ['--isolation', isolation, '--max-pods', '1800']

/**
 * Starts a cluster for as long as `use` takes, with V8's inspector at a port where its growth is measured. `before` are
 * the words of a program that starts it.
 */
export async function withKubestage<T>(
  flagsOfUp: readonly string[],
  use: (server: Server, stateDir: string, inspectPort: number) => Promise<T>,
  before?: readonly string[],
): Promise<T> {
  const stateDir = mkdtempSync(join(tmpdir(), 'kubestage-bench-'))
  const asNpx = options.scale !== undefined || options.growth !== undefined
  const inspectPort = options.growth === undefined ? 0 : await freePort()
  const profileDir = options.profile
  const server = await startKubestage({ stateDir, flags: [...flagsOfUp], profileDir, inspectPort, asNpx, before })
  try {
    return await use(server, stateDir, inspectPort)
  } finally {
    await server.stop()
    rmSync(stateDir, { recursive: true, force: true })
  }
}

/** Starts a bare API server, which its `stop` removes with its folder. */
export async function startBareApi(...more: string[]): Promise<Server> {
  const stateDir = mkdtempSync(join(tmpdir(), 'kubestage-bench-'))
  const server = await startKubestage({ stateDir, flags: [...bareApi, ...more] })
  const stop = async (): Promise<void> => {
    await server.stop()
    rmSync(stateDir, { recursive: true, force: true })
  }
  return { ...server, stop }
}
